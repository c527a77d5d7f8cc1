// mma.sync.m16n8k16 on the CPU: the register layout against an independent reading of the PTX manual, `make probe what=mma` on
// the CPU, misuse.
#include <cuda_fp16.h>

#include <cctype>
#include <fstream>
#include <iterator>

#include "checks/probes/mma_sections.cuh"
#include "checks/tests/test_exec.hpp"
#include "common/ptx/mma.cuh"
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
