// What `shared_tile` is given, and what must come out: sums over all tiles, each block's of other columns.
#include "checks/exercises/drills/drill.hpp"
#include "common/launch.cuh"

__global__ void mechanism(lab::TensorMap map, int tiles, float* out);

namespace {

constexpr int ROWS = 64, COLUMNS = 64, TILE = ROWS * COLUMNS;

lab::Drill of(int tiles) {
  lab::Drill d;
  d.name = std::to_string(tiles) + (tiles == 1 ? " tile" : " tiles");
  d.in = lab::small_numbers(tiles * TILE);
  for (int rank = 0; rank < 2; ++rank)
    for (int part = 0; part < 2 * ROWS; ++part) {
      float sum = 0;
      for (int t = 0; t < tiles; ++t)
        for (int i = 0; i < 16; ++i)
          sum += lab::to_float(d.in[std::size_t(t * TILE + part / 2 * COLUMNS + part % 2 * 32 + 2 * i + rank)]);
      d.right.push_back(sum);
    }
  d.start = [tiles](const half* in, float* out) {
    return lab::with_map(in, lab::matrix_of(std::size_t(ROWS * tiles), COLUMNS, ROWS / 2, COLUMNS, lab::Swizzle::none),
                         [&](lab::TensorMap map) {
                           return lab::launch_with({dim3(2)}, "mechanism", mechanism, dim3(2), dim3(160),
                                                   2 * TILE * sizeof(half) + 128, nullptr, std::move(map), tiles, out);
                         });
  };
  return d;
}

}  // namespace

std::vector<lab::Drill> lab::the_drills() { return {of(1), of(5)}; }
