// Inputs of `transposed`, and the right answer: a tile of 64 x 32 halves, transposed.
#include "checks/exercises/drills/drill.hpp"

__global__ void mechanism(const half* in, half* out);

std::vector<lab::Drill> lab::the_drills() {
  constexpr std::size_t ROWS = 64, COLUMNS = 32, WIDEST = ROWS + 32;
  Drill d;
  d.name = "one tile";
  d.halves = true;
  for (unsigned i = 0; i < ROWS * COLUMNS; ++i) d.in.push_back(to_fp16(float(i)));
  for (std::size_t column = 0; column < COLUMNS; ++column)
    for (std::size_t row = 0; row < ROWS; ++row) d.right.push_back(to_float(d.in[row * COLUMNS + column]));
  d.start = [](const half* in, float* out) {
    return start(mechanism, {128, COLUMNS * WIDEST * sizeof(half)}, in, reinterpret_cast<half*>(out));
  };
  return {d};
}
