// Inputs of `tile_map`, and the right answer: each head's rows, and zeros below them.
#include "checks/exercises/drills/drill.hpp"

lab::TensorShape tile_tensor();
__global__ void mechanism(lab::TensorMap map, float* out);

std::vector<lab::Drill> lab::the_drills() {
  constexpr int ROWS = 21, HEADS = 3, COLUMNS = 80, TILE_ROWS = 16, TILES = 2;
  Drill d;
  d.name = "6 tiles";
  d.in = small_numbers(ROWS * HEADS * COLUMNS);
  for (int head = 0; head < HEADS; ++head)
    for (int row = 0; row < TILES * TILE_ROWS; ++row)
      for (int c = 0; c < COLUMNS; ++c)
        d.right.push_back(row < ROWS ? to_float(d.in[std::size_t((row * HEADS + head) * COLUMNS + c)]) : 0.0f);
  on_map(d, mechanism, tile_tensor(), {64, TILE_ROWS * COLUMNS * sizeof(half) + 32, dim3(TILES, HEADS)});
  return {d};
}
