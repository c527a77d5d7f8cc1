// ldmatrix and stmatrix on the CPU: which lane gets what, what the checker sees of them, misuse; and cp.async by every
// thread, whose tiles ldmatrix reads.
#include <cuda_fp16.h>

#include <cstring>
#include <string>

#include "checks/tests/instrumented.hpp"
#include "checks/tests/test_exec.hpp"
#include "checks/tests/test_sm80.hpp"
#include "common/ptx/ldmatrix.cuh"
#include "common/ptx/stmatrix.cuh"
#include "common/smem_plan.cuh"

using namespace lab;
using namespace lab::ptx;
using namespace lab::sm80_tests;
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
    const Outcome outcome = run(
        1, 32,
        [&] {
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
        },
        options, SMEM);
    REQUIRE_MESSAGE(outcome.ok(), outcome.message());
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

TEST_CASE("stmatrix: it is the way back of ldmatrix") {
  for (const bool transposed : {false, true}) {
    std::uint16_t memory[4][8][8] = {}, two[4][8][8] = {};
    const Outcome outcome = run(
        1, 32,
        [&] {
          half* s = filled();
          SmemCursor cursor;
          cursor.array<half>("s", 32, PITCH);
          half* t = cursor.array<half>("t", 32, 8);
          for (int i = 0; i < 8; ++i) t[8 * lane_id() + i].bits = 7;
          __syncwarp();
          half* from = s + lane_id() * PITCH;
          half* to = t + lane_id() * 8;
          unsigned r[4], pair[2];
          transposed ? ldmatrix_x4_trans(r, from) : ldmatrix_x4(r, from);
          transposed ? stmatrix_x4_trans(to, r) : stmatrix_x4(to, r);
          __syncwarp();
          for (int i = 0; i < 8; ++i) memory[lane_id() / 8][lane_id() % 8][i] = to[i].bits;
          __syncwarp();
          for (int i = 0; i < 8; ++i) to[i].bits = 7;
          __syncwarp();
          pair[0] = r[2], pair[1] = r[3];
          transposed ? stmatrix_x2_trans(to, pair) : stmatrix_x2(to, pair);
          __syncwarp();
          for (int i = 0; i < 8; ++i) two[lane_id() / 8][lane_id() % 8][i] = to[i].bits;
        },
        {}, SMEM + smem_bytes(32 * 8, sizeof(half)));
    REQUIRE_MESSAGE(outcome.ok(), outcome.message());
    for (int matrix = 0; matrix < 4; ++matrix)
      for (int row = 0; row < 8; ++row)
        for (int column = 0; column < 8; ++column) {
          CHECK(memory[matrix][row][column] == number(8 * matrix + row, column));
          CHECK(two[matrix][row][column] == (matrix < 2 ? number(8 * (matrix + 2) + row, column) : 7));
        }
  }
}

// --- misuse ---------------------------------------------------------------------------------------------------

TEST_CASE("ldmatrix: a row that is not 16-byte aligned is named, with its lane, array and line") {
  int line = 0;
  Outcome outcome = run(
      1, 32,
      [&] {
        half* s = filled();
        unsigned r[4];
        HERE(line, ldmatrix_x4_trans(r, s + lane_id() * PITCH + (lane_id() == 13 ? 4 : 0)));
      },
      {}, SMEM);
  check_failed(outcome, cudaErrorMisalignedAddress, Kind::misaligned);
  CHECK_CONTAINS(outcome.message(), "warp 0 lane 13" + at_line(line));
  CHECK_CONTAINS(outcome.message(),
                 "ldmatrix.x4.trans: the row that lane 13 points to, s[13][4], is 8 bytes past a multiple of 16");

  // x2 reads the addresses of lanes 0..15 alone.
  outcome = run(
      1, 32,
      [&] {
        half* s = filled();
        unsigned r[2];
        ldmatrix_x2(r, lane_id() < 16 ? s + lane_id() * PITCH : s + 1);
        ldmatrix_x2(r, lane_id() < 16 ? s + lane_id() * PITCH : nullptr);
      },
      {}, SMEM);
  CHECK_MESSAGE(outcome.ok(), outcome.message());
}

TEST_CASE("ldmatrix: a row outside shared memory is named") {
  const Global global(512);
  int line = 0;
  const Outcome outcome = run(
      1, 32,
      [&] {
        half* s = filled();
        unsigned r[1];
        const half* elsewhere = reinterpret_cast<const half*>(global.bytes);
        HERE(line, ldmatrix_x1(r, lane_id() == 5 ? elsewhere : s));
      },
      {}, SMEM);
  check_failed(outcome, cudaErrorIllegalAddress, Kind::out_of_bounds);
  CHECK_CONTAINS(outcome.message(), "warp 0 lane 5" + at_line(line));
  CHECK_CONTAINS(outcome.message(), "ldmatrix.x1: the row that lane 5 points to does not lie in shared memory");
}

TEST_CASE("ldmatrix: lanes that part ways are named") {
  int load = 0, sync = 0;
  Outcome outcome = run(
      1, 32,
      [&] {
        half* s = filled();
        unsigned r[4];
        if (lane_id() < 8)
          HERE(load, ldmatrix_x4(r, s));
        else
          HERE(sync, __syncwarp());
      },
      {}, SMEM);
  check_failed(outcome, cudaErrorLaunchFailure, Kind::collective);
  CHECK_CONTAINS(outcome.message(),
                 "lane 8" + at_line(sync) + "__syncwarp with mask 0xffffffff meets lanes 0..7 in ldmatrix");

  outcome = run(
      1, 32,
      [&] {
        half* s = filled();
        unsigned r[4];
        if (lane_id() < 8)
          ldmatrix_x4(r, s);
        else
          HERE(load, ldmatrix_x4_trans(r, s));
      },
      {}, SMEM);
  check_failed(outcome, cudaErrorLaunchFailure, Kind::collective);
  CHECK_CONTAINS(outcome.message(), "lane 31" + at_line(load) + "ldmatrix.x4.trans meets lane 0 in ldmatrix.x4");
}

// --- what the checker sees ---------------------------------------------------------------------------------------

TEST_CASE("ldmatrix: used right, it is silent" * instrumented()) {
  silent({SM80(ldmatrix_right), 32, 512});
  silent({SM80(stmatrix_right), 32, 512});
}

TEST_CASE("ldmatrix: a read is that of the lane whose address it is" * instrumented()) {
  const Run unordered{SM80(ldmatrix_unordered), 32, 512};
  races(unordered, Kind::race_intra_warp, "write", "load");
  Finding f = only(unordered);
  CHECK(f.hazard == "RAW");
  CHECK(f.where == "tile[5][9]");
  check_side(unordered, f.first, {"write", 0, 3, true});
  check_side(unordered, f.second, {"load", 0, 16 + 5, false});  // matrix 2, row 5

  const Run other{SM80(ldmatrix_other_warp), 64, 512};
  races(other, Kind::race_inter_warp, "write", "load");
  f = only(other);
  check_side(other, f.second, {"load", 1, 5, false});

  const Run stored{SM80(stmatrix_unordered), 32, 512};
  races(stored, Kind::race_intra_warp, "store", "read");
}

TEST_CASE("ldmatrix: rows that nothing wrote, that no thread waited for, or past the end" * instrumented()) {
  const Run uninitialised{SM80(ldmatrix_uninitialised), 32, 512};
  Finding f = only(uninitialised);
  CHECK(f.kind == Kind::uninitialised);
  CHECK(f.where == "tile[14][0]");
  CHECK(f.count == 4u);  // two rows, each in a left and a right matrix
  check_side(uninitialised, f.second, {"load", 0, 14, false});

  const Run past{SM80(ldmatrix_past_end), 32, 512};
  f = only(past);
  CHECK(f.kind == Kind::out_of_bounds);
  CHECK(f.where.rfind("tile[16][0]", 0) == 0);
  CHECK(f.count == 1u);
  check_side(past, f.second, {"load", 0, 7, false});

  const Run before{SM80(ldmatrix_before_wait), 32, 512};
  for (const Copies copies : {Copies::at_wait, Copies::at_issue}) {
    ExecOptions options;
    options.copies = copies;
    f = only(before, options);
    CHECK(f.kind == Kind::before_wait);
    CHECK(f.where == "tile[0][0]");
    CHECK(f.count == 32u);
    check_side(before, f.first, {"copy", 0, 0, true});
    check_side(before, f.second, {"load", 0, 0, false});
  }
}

TEST_CASE("ldmatrix: it orders no memory" * instrumented()) {
  races({SM80(ldmatrix_orders_nothing), 32, 512}, Kind::race_intra_warp, "write", "read");
}

// --- cp.async by every thread ----------------------------------------------------------------------------------------

TEST_CASE("cp.async: every thread copies and waits for its own; a block barrier tells the others") {
  silent({SM80(copies_by_all), 64, 2 * 64 * 16});
  silent({SM80(copies_by_all), 256, 2 * 256 * 16});
}

TEST_CASE("cp.async: a wait that leaves one group too many" * instrumented()) {
  const Run run{SM80(copies_one_group_early), 64, 2 * 64 * 16};
  under_all_options([&](const ExecOptions& options) {
    const Finding f = only(run, options);
    CHECK(f.kind == Kind::before_wait);
    CHECK(f.where == "s[71][0]");
    check_side(run, f.first, {"copy", 0, 7, true});
    check_side(run, f.second, {"read", 1, 8, false});
    CHECK_CONTAINS(f.text, "a cp.async that no thread has waited for may still write here");
  });
}

TEST_CASE("cp.async: a wait for a group that was never committed waits for nothing" * instrumented()) {
  const Run run{SM80(copies_not_committed), 64, 64 * 16};
  under_all_options([&](const ExecOptions& options) {
    const Finding f = only(run, options);
    CHECK(f.kind == Kind::before_wait);
    CHECK(f.where == "s[7][0]");
    check_side(run, f.first, {"copy", 0, 7, true});
    check_side(run, f.second, {"read", 1, 8, false});
    CHECK_CONTAINS(f.text, "the wait came before its group was committed");
  });
}

TEST_CASE("cp.async: a thread waits for its own groups, never for another's" * instrumented()) {
  const Run run{SM80(copies_other_threads_wait), 64, 512};
  under_all_options([&](const ExecOptions& options) {
    const Finding f = only(run, options);
    CHECK(f.kind == Kind::before_wait);
    check_side(run, f.first, {"copy", 0, 7, true});
    check_side(run, f.second, {"read", 1, 8, false});
  });
}
