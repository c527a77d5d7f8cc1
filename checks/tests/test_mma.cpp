// mma.sync.m16n8k16 and ldmatrix on the CPU: the register layouts against an independent reading of the PTX manual, and
// `make probe what=mma` on the CPU.
#include <cuda_fp16.h>

#include <cctype>
#include <cstring>
#include <fstream>
#include <iterator>

#include "checks/probes/mma_sections.cuh"
#include "checks/tests/test_exec.hpp"
#include "common/ptx/mma.cuh"
#include "common/smem_plan.cuh"
#include "common/wmma_layout.hpp"

using namespace lab;
using lab::ptx::mma_m16n8k16;
using Kind = Finding::Kind;

namespace {

struct Matrices {
  float a[16][16], b[16][8], c[16][8];
};

unsigned packed(float low, float high) { return to_fp16(low).bits | unsigned(to_fp16(high).bits) << 16; }

// PTX ISA, "Matrix Fragments for mma.m16n8k16 with floating point type", element by element: groupID = lane >> 2,
// threadID_in_group = lane % 4. Written out here, not taken from common/mma_layout.hpp.
void multiply_add(const Matrices& in, float (&d)[16][8]) {
  const int lane = lane_id(), group = lane >> 2, in_group = lane & 3;
  const auto a_pair = [&](int row, int column) { return packed(in.a[row][column], in.a[row][column + 1]); };
  const unsigned a[4] = {a_pair(group, in_group * 2), a_pair(group + 8, in_group * 2), a_pair(group, in_group * 2 + 8),
                         a_pair(group + 8, in_group * 2 + 8)};
  const auto b_pair = [&](int row) { return packed(in.b[row][group], in.b[row + 1][group]); };
  const unsigned b[2] = {b_pair(in_group * 2), b_pair(in_group * 2 + 8)};
  float c[4] = {in.c[group][in_group * 2], in.c[group][in_group * 2 + 1], in.c[group + 8][in_group * 2],
                in.c[group + 8][in_group * 2 + 1]};
  mma_m16n8k16(c, a, b);
  d[group][in_group * 2] = c[0], d[group][in_group * 2 + 1] = c[1];
  d[group + 8][in_group * 2] = c[2], d[group + 8][in_group * 2 + 1] = c[3];
}

// Written by `make probe what=mma sample=...` on an H200; its head is three lines.
const char* const SAMPLE = "reference/tensor_core_sample.txt";

}  // namespace

TEST_CASE("mma: the fragments are those of the PTX manual, under every schedule") {
  Matrices m{};
  for (int row = 0; row < 16; ++row)
    for (int k = 0; k < 16; ++k) m.a[row][k] = float((row * 7 + k * 3) % 23 - 11);
  for (int k = 0; k < 16; ++k)
    for (int column = 0; column < 8; ++column) m.b[k][column] = float((k * 5 + column * 11) % 19 - 9);
  for (int row = 0; row < 16; ++row)
    for (int column = 0; column < 8; ++column) m.c[row][column] = float(100 * row + column);
  under_all_schedules([&](const ExecOptions& options) {
    float d[16][8] = {};
    runs({1, 32, 0, options}, [&] { multiply_add(m, d); });
    for (int row = 0; row < 16; ++row)
      for (int column = 0; column < 8; ++column) {
        float sum = m.c[row][column];
        for (int k = 0; k < 16; ++k) sum += m.a[row][k] * m.b[k][column];
        CHECK(d[row][column] == sum);
      }
  });
}

TEST_CASE("mma: the probe's places and products, ldmatrix and stmatrix, and the bits of a GPU") {
  std::ifstream file(SAMPLE);
  REQUIRE(file.good());
  std::string line, sample;
  for (int i = 0; i < 3; ++i) std::getline(file, line);
  CHECK(line == "sm_90");
  for (const probe::Section& section : mma_probe::sections(mma_probe::SAMPLED, true, TensorCore::sm_90)) {
    probe::Tally tally;
    section.work(tally);
    CHECK_MESSAGE((tally.wrong == 0 && tally.cases > 0), section.name << "\n" << tally.report);
    sample += tally.sample;
  }
  CHECK(sample == std::string(std::istreambuf_iterator<char>(file), {}));
}

TEST_CASE("mma: WMMA's fragments are those that an H200 showed") {
  namespace wmma = wmma_layout;
  std::ifstream file("writeups/results/h200-wmma-layout.txt");
  int agree = 0;
  const auto next_is = [&](const auto& table) {
    file.ignore(10'000, '{');
    for (const auto& row : table)
      for (const short wanted : row) {
        int number = -1;
        while (file.good() && !std::isdigit(file.peek())) file.get();
        file >> number, agree += number == wanted;
      }
  };
  next_is(wmma::A_ROW_HELD), next_is(wmma::B_HELD), next_is(wmma::B_HELD), next_is(wmma::ACC_HELD);
  next_is(wmma::A_ROW_USED), next_is(wmma::B_USED), next_is(wmma::B_USED);
  CHECK(agree == 3 * 32 * 16 + 32 * 8 + 3 * 16 * 16);
}

using namespace lab::ptx;

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
