// Drills of one instruction.
#include "checks/acceptance/format.hpp"
#include "checks/exercises/drills/drill.hpp"
#include "common/mma_layout.hpp"
#include "common/wgmma_layout.hpp"

namespace lab {

extern "C" Launches drill_box() {  // six rows of the matrix, and two of zeros
  Drill d{.in = small_numbers(22 * 64), .rows = 8, .columns = 32, .of_out = [](std::size_t i) {
            return "it lies at byte " + std::to_string(wgmma_layout::swizzled(int(2 * i), 64)) + " of the box";
          }};
  for (int row = 16; row < 24; ++row)
    for (int column = 32; column < 64; ++column) d.right.push_back(row < 22 ? d.in[row * 64 + column] : 0.0f);
  return {d};
}

extern "C" Launches drill_map() {  // of each head four rows, and four of zeros
  Drill d{.in = small_numbers(2 * 20 * 64), .rows = 2 * 8, .columns = 64};
  for (int head = 0; head < 2; ++head)
    for (int i = 16 * 64; i < 24 * 64; ++i) d.right.push_back(i < 20 * 64 ? d.in[head * 20 * 64 + i] : 0.0f);
  return {d};
}

extern "C" Launches drill_matrices() {  // A's fragments, from the documented table
  Drill d;
  for (int i = 0; i < 16 * 16; ++i) d.in.push_back(float(i));
  for (int lane = 0; lane < 32; ++lane)
    for (int e = 0; e < mma_layout::A_ELEMENTS; ++e) {
      const auto [row, column] = mma_layout::a(lane, e);
      d.right.push_back(float(row * 16 + column));
    }
  return {d};
}

extern "C" Launches drill_phases() {  // the same five numbers
  Drill d;
  for (int i = 1; i <= 5; ++i) d.in.push_back(float(i)), d.right.push_back(float(i));
  return {d};
}

extern "C" Launches drill_product() {
  Drill d{.in = small_numbers(8 * 16 + 16 * 16), .of_out = [](std::size_t i) {
            for (int lane = 0; lane < 32; ++lane)
              for (int e = 0; e < mma_layout::C_ELEMENTS; ++e)
                if (const auto [row, column] = mma_layout::c(lane, e); int(i) == column * 16 + row)
                  return format("c[%d] of lane %d is to hold it", e, lane);
            return std::string();
          }};
  multiply(d, 8, 16, 16, false);
  return {d};
}

extern "C" Launches drill_warpgroup() {
  Drill d{.in = small_numbers(2 * 64 * 64)};
  multiply(d, 64, 64, 64, true);
  return {d};
}

}  // namespace lab
