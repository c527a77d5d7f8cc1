// Inputs of `lazy`, and the right answer. Scores are whole numbers and close enough together that every sum is
// exact: the result does not depend on the reference, unless a weight does not fit a half.
#include <cmath>

#include "checks/exercises/drills/drill.hpp"

__global__ void mechanism(const half* in, int tiles, float* out);

namespace {

constexpr int ROWS = 4, TILES = 8;
constexpr int HIDDEN = -99;  // a tile without a visible key
// Each tile's largest score: never above the first; 8 above it, then 9; hidden at first; up by exactly 8, then by more.
constexpr int LARGEST[ROWS][TILES] = {{5, 3, 5, 4, 0, 2, 5, 1},
                                      {0, 0, 2, 4, 8, 9, 10, 12},
                                      {HIDDEN, HIDDEN, -7, -6, HIDDEN, -7, 0, -1},
                                      {-4, 4, 3, 4, 13, 12, 53, 52}};

int score_of(int row, int t, int lane) { return LARGEST[row][t] - (lane * 7 + t * 5 + row) % 32 / 16; }

lab::Drill all() {
  lab::Drill d;
  d.name = "4 rows";
  for (int row = 0; row < ROWS; ++row) {
    double l = 0, o = 0;
    for (int t = 0; t < TILES; ++t) {
      const bool hidden = LARGEST[row][t] == HIDDEN;
      for (int lane = 0; lane < 32; ++lane)
        d.in.push_back(lab::to_fp16(hidden || lane % 11 == 5 ? -INFINITY : float(score_of(row, t, lane))));
      for (int lane = 0; lane < 32; ++lane) {
        const float value = lab::small_number(unsigned((row * TILES + t) * 32 + lane));
        d.in.push_back(lab::to_fp16(value));
        const double weight = hidden || lane % 11 == 5 ? 0 : std::exp2(score_of(row, t, lane));
        l += weight, o += weight * double(value);
      }
    }
    d.right.push_back(float(o) / float(l));
  }
  on_input(d, mechanism, {32 * ROWS}, TILES);
  return d;
}

}  // namespace

std::vector<lab::Drill> lab::the_drills() { return {all()}; }
