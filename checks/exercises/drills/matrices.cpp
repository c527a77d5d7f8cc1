// Inputs of `matrices`, and the right answer: A's fragments, from the documented table.
#include "checks/exercises/drills/drill.hpp"
#include "common/mma_layout.hpp"

std::vector<lab::Drill> lab::the_drills() {
  Drill d = instruction(32, 16 * 16 * 2);
  for (unsigned i = 0; i < 16 * 16; ++i) d.in.push_back(to_fp16(float(i)));
  for (int lane = 0; lane < 32; ++lane)
    for (int e = 0; e < mma_layout::A_ELEMENTS; ++e) {
      const auto [row, column] = mma_layout::a(lane, e);
      d.right.push_back(float(row * 16 + column));
    }
  return {d};
}
