// Inputs of `shared_tile`, and the right answer: sums over all tiles, each block's of other columns.
#include "checks/exercises/drills/drill.hpp"

__global__ void mechanism(lab::TensorMap map, int tiles, float* out);

namespace {

constexpr int ROWS = 64, COLUMNS = 64, TILE = ROWS * COLUMNS;

lab::Drill of(int tiles) {
  lab::Drill d;
  d.name = lab::number_of(tiles, "tile");
  d.in = lab::small_numbers(tiles * TILE);
  for (int rank = 0; rank < 2; ++rank)
    for (int part = 0; part < 2 * ROWS; ++part) {
      float sum = 0;
      for (int t = 0; t < tiles; ++t)
        for (int i = 0; i < 16; ++i)
          sum += lab::to_float(d.in[std::size_t(t * TILE + part / 2 * COLUMNS + part % 2 * 32 + 2 * i + rank)]);
      d.right.push_back(sum);
    }
  on_map(d, mechanism, lab::matrix_of(std::size_t(ROWS * tiles), COLUMNS, ROWS / 2, COLUMNS, lab::Swizzle::none),
         {160, 2 * TILE * sizeof(half) + 128, dim3(2), dim3(2)}, tiles);
  return d;
}

}  // namespace

std::vector<lab::Drill> lab::the_drills() { return {of(1), of(5)}; }
