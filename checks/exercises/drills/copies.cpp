// Inputs of `copies`, and the right answer: sums over rows.
#include "checks/exercises/drills/drill.hpp"

std::vector<lab::Drill> lab::the_drills() {
  Drill d = instruction(32, 2 * 32 * 8 * 2);
  d.in = small_numbers(4 * 32 * 8);
  for (int row = 0; row < 32; ++row) {
    float sum = 0;
    for (int t = 0; t < 4; ++t)
      for (int c = 0; c < 8; ++c) sum += to_float(d.in[(t * 32 + row) * 8 + c]);
    d.right.push_back(sum);
  }
  return {d};
}
