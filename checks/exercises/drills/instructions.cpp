// Drills of one instruction.
#include "checks/exercises/drills/drill.hpp"
#include "common/mma_layout.hpp"

namespace lab::drills {

Launches box() {  // six rows of the matrix, and two of zeros
  Drill d{.in = small_numbers(22 * 64)};
  for (int i = 16 * 64; i < 24 * 64; ++i) d.right.push_back(i < 22 * 64 ? to_float(d.in[i]) : 0.0f);
  return {d};
}

Launches copies() {  // sums over rows
  Drill d{.in = small_numbers(4 * 32 * 8), .right = std::vector<float>(32)};
  for (int i = 0; i < 4 * 32 * 8; ++i) d.right[i / 8 % 32] += to_float(d.in[i]);
  return {d};
}

Launches map() {  // of each head four rows, and four of zeros
  Drill d{.in = small_numbers(2 * 20 * 64)};
  for (int head = 0; head < 2; ++head)
    for (int i = 16 * 64; i < 24 * 64; ++i) d.right.push_back(i < 20 * 64 ? to_float(d.in[head * 20 * 64 + i]) : 0.0f);
  return {d};
}

Launches matrices() {  // A's fragments, from the documented table
  Drill d;
  for (int i = 0; i < 16 * 16; ++i) d.in.push_back(to_fp16(float(i)));
  for (int lane = 0; lane < 32; ++lane)
    for (int e = 0; e < mma_layout::A_ELEMENTS; ++e) {
      const auto [row, column] = mma_layout::a(lane, e);
      d.right.push_back(float(row * 16 + column));
    }
  return {d};
}

Launches phases() {  // the same five numbers
  Drill d;
  for (int i = 1; i <= 5; ++i) d.in.push_back(to_fp16(float(i))), d.right.push_back(float(i));
  return {d};
}

Launches product() {
  Drill d{.in = small_numbers(16 * 16 + 16 * 8)};
  multiply(d, 16, 8, 16, false);
  return {d};
}

Launches warpgroup() {
  Drill d{.in = small_numbers(2 * 64 * 64)};
  multiply(d, 64, 64, 64, true);
  return {d};
}

}  // namespace lab::drills
