// Drills of the softmax, and of a grid's work. Powers of two and small whole numbers: every sum is exact.
#include <algorithm>
#include <cmath>

#include "checks/exercises/drills/drill.hpp"

namespace lab {

// Scores are close enough together that every sum is exact: the result does not depend on the reference, unless a weight
// does not fit a half.
extern "C" Launches drill_lazy() {
  constexpr int ROWS = 4, TILES = 8, HIDDEN = -99;  // HIDDEN: a tile without a visible key
  // Each tile's largest score: never above the first, and so low that a reference of 0 leaves no weight; 8 above it, then 9;
  // hidden at first; up by exactly 8, then by more.
  static constexpr int LARGEST[ROWS][TILES] = {{-35, -37, -35, -36, -40, -38, -35, -39},
                                               {0, 0, 2, 4, 8, 9, 10, 12},
                                               {HIDDEN, HIDDEN, -7, -6, HIDDEN, -7, 0, -1},
                                               {-4, 4, 3, 4, 13, 12, 53, 52}};
  Drill d{.name = "4 rows", .size = {TILES}, .of_out = [](std::size_t row) {
            std::string text = "row " + std::to_string(row) + ", of warp " + std::to_string(row) +
                               ": the largest scores of its tiles:";
            for (const int largest : LARGEST[row]) text += largest == HIDDEN ? " -inf" : " " + std::to_string(largest);
            return text;
          }};
  for (int row = 0; row < ROWS; ++row) {
    double l = 0, o = 0;
    for (int t = 0; t < TILES; ++t) {
      const auto score = [&](int lane) {
        const bool hidden = LARGEST[row][t] == HIDDEN || lane % 11 == 5;
        return hidden ? -INFINITY : float(LARGEST[row][t] - (lane * 7 + t * 5 + row) % 32 / 16);
      };
      for (int lane = 0; lane < 32; ++lane) d.in.push_back(score(lane));
      for (int lane = 0; lane < 32; ++lane) {
        const float value = small_number((row * TILES + t) * 32 + lane);
        d.in.push_back(value);
        const double weight = std::exp2(double(score(lane)));
        l += weight, o += weight * double(value);
      }
    }
    d.right.push_back(float(o) / float(l));
  }
  return {d};
}

extern "C" Launches drill_merge() {  // the softmax over both blocks' keys
  constexpr int ROWS = 64, COLUMNS = 16;
  Drill d{.name = "64 rows"};
  // The first block of every eighth row sees no key, the second block of the row after it neither.
  const auto reference = [](int block, int row) {
    return row % 8 == block ? -INFINITY : small_number(block * ROWS + row);
  };
  const auto l_of = [&](int block, int row) { return row % 8 == block ? 0.0f : float(1 + row % 5); };
  const auto o_of = [&](int block, int row, int c) {
    return row % 8 == block ? 0.0f : small_number((block * ROWS + row) * COLUMNS + c);
  };
  for (int block = 0; block < 2; ++block)
    for (int row = 0; row < ROWS; ++row) {
      d.in.push_back(reference(block, row)), d.in.push_back(l_of(block, row));
      for (int c = 0; c < COLUMNS; ++c) d.in.push_back(o_of(block, row, c));
    }
  for (int row = 0; row < ROWS; ++row)
    for (int c = 0; c < COLUMNS; ++c) {
      const float most = std::max(reference(0, row), reference(1, row));
      float l = 0, o = 0;
      for (int block = 0; block < 2; ++block) {
        const float factor = std::exp2(reference(block, row) - most);
        l += l_of(block, row) * factor, o += o_of(block, row, c) * factor;
      }
      d.right.push_back(o / l);
    }
  return {d};
}

// Each piece's sum, and which block worked on which piece of the list.
extern "C" Launches drill_pieces() {
  struct Piece {
    int sequence, tile;
  };
  const std::pair<std::vector<int>, int> cases[] = {
      {{5, 1, 3, 0, 3}, 4}, {{1}, 4}, {{7, 7, 2}, 3}, {{4, 9, 4, 0, 6}, 5}};
  Launches all;
  for (const auto& [tiles, blocks] : cases) {
    Drill d{.name = "", .size = {int(tiles.size()), blocks}};
    for (const int count : tiles) {
      d.name += (d.name.empty() ? "" : "+") + std::to_string(count);
      d.in.push_back(float(count));
    }
    d.name += " tiles";
    std::vector<Piece> list;
    int place = 0;
    for (int s = 0; s < int(tiles.size()); ++s) {
      float sum = 0;
      for (int tile = 0; tile < tiles[s]; ++tile) {
        for (int i = 0; i < 32; ++i, ++place) {
          d.in.push_back(small_number(place));
          sum += small_number(place);
        }
        d.right.push_back(sum);
        list.push_back({s, tile});
      }
    }
    std::ranges::stable_sort(list, [](const Piece& a, const Piece& b) { return a.tile > b.tile; });
    for (int i = 0; i < int(list.size()); ++i) {
      const int round = i / blocks, nth = i % blocks;
      d.right.push_back(float(1000 * list[i].sequence + 10 * list[i].tile + (round % 2 ? blocks - 1 - nth : nth)));
    }
    all.push_back(d);
  }
  return all;
}

}  // namespace lab
