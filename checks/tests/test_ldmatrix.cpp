// ldmatrix on the CPU: which lane gets what, and misuse. stmatrix is one of the probe's sections (test_mma.cpp).
#include <cuda_fp16.h>

#include <cstring>

#include "checks/tests/test_exec.hpp"
#include "common/ptx/ldmatrix.cuh"
#include "common/smem_plan.cuh"

using namespace lab;
using namespace lab::ptx;
using Kind = Finding::Kind;

namespace {

constexpr int PITCH = 24;  // halves: rows of 48 bytes
constexpr std::size_t SMEM = smem_bytes(32 * PITCH, sizeof(half));

// Number of element (row, column) of the 32 x 24 array that the tests load from.
std::uint16_t number(int row, int column) { return std::uint16_t(1000 + row * PITCH + column); }

half* filled() {
  SmemCursor cursor;
  half* s = cursor.array<half>("s", 32, PITCH);
  for (int i = lane_id(); i < 32 * PITCH; i += 32) s[i].bits = number(i / PITCH, i % PITCH);
  __syncwarp();
  return s;
}

}  // namespace

// PTX ISA, "ldmatrix": matrix i's row j comes from the address of lane 8i + j; lane l holds of each matrix row l / 4,
// elements 2 (l % 4) and the next. With .trans the same of the transposed matrix.
TEST_CASE("ldmatrix: every variant, rows anywhere, under every schedule") {
  under_all_schedules([](const ExecOptions& options) {
    unsigned x1[2][32], x2[2][32][2], x4[2][32][4];
    runs({1, 32, SMEM, options}, [&] {
      half* s = filled();
      const int lane = lane_id();
      half* row = s + (lane * 7 % 32) * PITCH + lane % 3 * 8;  // no order at all
      unsigned one[1], two[2], four[4];
      ldmatrix_x1(one, row), x1[0][lane] = one[0];
      ldmatrix_x1_trans(one, row), x1[1][lane] = one[0];
      ldmatrix_x2(two, row), std::memcpy(x2[0][lane], two, sizeof two);
      ldmatrix_x2_trans(two, row), std::memcpy(x2[1][lane], two, sizeof two);
      ldmatrix_x4(four, row), std::memcpy(x4[0][lane], four, sizeof four);
      ldmatrix_x4_trans(four, row), std::memcpy(x4[1][lane], four, sizeof four);
    });
    const auto element = [](int matrix, int row, int column) {
      const int giver = 8 * matrix + row;
      return unsigned(number(giver * 7 % 32, giver % 3 * 8 + column));
    };
    for (int lane = 0; lane < 32; ++lane)
      for (int matrix = 0; matrix < 4; ++matrix)
        for (int transposed = 0; transposed < 2; ++transposed) {
          const int i = lane / 4, j = 2 * (lane % 4);
          const unsigned expected = transposed ? element(matrix, j, i) | element(matrix, j + 1, i) << 16
                                               : element(matrix, i, j) | element(matrix, i, j + 1) << 16;
          CHECK(x4[transposed][lane][matrix] == expected);
          if (matrix < 2) CHECK(x2[transposed][lane][matrix] == expected);
          if (matrix < 1) CHECK(x1[transposed][lane] == expected);
        }
  });
}
