// Inputs of `pieces`, and the right answer: each piece's sum, and which block worked on which piece of the list.
#include <algorithm>

#include "checks/exercises/drills/drill.hpp"

__global__ void mechanism(const half* in, int sequences, float* out);

namespace {

struct Piece {
  int sequence, tile;
};

lab::Drill of(const std::vector<int>& tiles, int blocks) {
  lab::Drill d;
  d.name.clear();
  for (const int count : tiles) d.name += (d.name.empty() ? "" : "+") + std::to_string(count);
  d.name += " tiles";
  std::vector<Piece> list;
  for (const int count : tiles) d.in.push_back(lab::to_fp16(float(count)));
  unsigned place = 0;
  for (std::size_t s = 0; s < tiles.size(); ++s) {
    float sum = 0;
    for (int tile = 0; tile < tiles[s]; ++tile) {
      for (int i = 0; i < 32; ++i, ++place) {
        d.in.push_back(lab::to_fp16(lab::small_number(place)));
        sum += lab::small_number(place);
      }
      d.right.push_back(sum);
      list.push_back({int(s), tile});
    }
  }
  std::ranges::stable_sort(list, [](const Piece& a, const Piece& b) { return a.tile > b.tile; });
  for (int i = 0; i < int(list.size()); ++i) {
    const int round = i / blocks, nth = i % blocks;
    d.right.push_back(float(1000 * list[std::size_t(i)].sequence + 10 * list[std::size_t(i)].tile +
                            (round % 2 ? blocks - 1 - nth : nth)));
  }
  on_input(d, mechanism, {32, 0, dim3(unsigned(blocks))}, int(tiles.size()));
  return d;
}

}  // namespace

std::vector<lab::Drill> lab::the_drills() {
  return {of({5, 1, 3, 0, 3}, 4), of({1}, 4), of({7, 7, 2}, 3), of({4, 9, 4, 0, 6}, 5)};
}
