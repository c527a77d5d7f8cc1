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

// --- misuse ---------------------------------------------------------------------------------------------------

TEST_CASE("ldmatrix: a row that is not 16-byte aligned is named, with its lane, array and line") {
  int line = 0;
  Outcome outcome = run({1, 32, SMEM}, [&] {
    half* s = filled();
    unsigned r[4];
    HERE(line, ldmatrix_x4_trans(r, s + lane_id() * PITCH + (lane_id() == 13 ? 4 : 0)));
  });
  check_failed(outcome, cudaErrorMisalignedAddress, Kind::misaligned, "warp 0 lane 13" + at_line(line),
               "ldmatrix.x4.trans: the row that lane 13 points to, s[13][4], is 8 bytes past a multiple of 16");

  // x2 reads the addresses of lanes 0..15 alone.
  outcome = run({1, 32, SMEM}, [&] {
    half* s = filled();
    unsigned r[2];
    ldmatrix_x2(r, lane_id() < 16 ? s + lane_id() * PITCH : s + 1);
    ldmatrix_x2(r, lane_id() < 16 ? s + lane_id() * PITCH : nullptr);
  });
  CHECK_MESSAGE(outcome.ok(), outcome.message());
}

TEST_CASE("ldmatrix: a row outside shared memory is named") {
  const Global global(512);
  int line = 0;
  const Outcome outcome = run({1, 32, SMEM}, [&] {
    half* s = filled();
    unsigned r[1];
    const half* elsewhere = reinterpret_cast<const half*>(global.bytes);
    HERE(line, ldmatrix_x1(r, lane_id() == 5 ? elsewhere : s));
  });
  check_failed(outcome, cudaErrorIllegalAddress, Kind::out_of_bounds, "warp 0 lane 5" + at_line(line),
               "ldmatrix.x1: the row that lane 5 points to does not lie in shared memory");
}

TEST_CASE("ldmatrix: lanes that part ways are named") {
  int load = 0, sync = 0;
  Outcome outcome = run({1, 32, SMEM}, [&] {
    half* s = filled();
    unsigned r[4];
    if (lane_id() < 8)
      HERE(load, ldmatrix_x4(r, s));
    else
      HERE(sync, __syncwarp());
  });
  check_failed(outcome, cudaErrorLaunchFailure, Kind::collective,
               "lane 8" + at_line(sync) + "__syncwarp with mask 0xffffffff meets lanes 0..7 in ldmatrix");

  outcome = run({1, 32, SMEM}, [&] {
    half* s = filled();
    unsigned r[4];
    if (lane_id() < 8)
      ldmatrix_x4(r, s);
    else
      HERE(load, ldmatrix_x4_trans(r, s));
  });
  check_failed(outcome, cudaErrorLaunchFailure, Kind::collective,
               "lane 31" + at_line(load) + "ldmatrix.x4.trans meets lane 0 in ldmatrix.x4");
}
