// mma.sync.m16n8k16 on the CPU: the register layout against an independent reading of the PTX manual, the arithmetic it
// is given, misuse.
#include <cuda_fp16.h>

#include <bit>
#include <random>

#include "checks/tests/test_exec.hpp"
#include "common/emulator/tensor_core.hpp"
#include "common/mma_layout.hpp"
#include "common/ptx/mma.cuh"

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

Matrices numbers(unsigned seed, float scale) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.0f, scale);
  Matrices m;
  for (auto& row : m.a)
    for (float& x : row) x = half(normal(random));
  for (auto& row : m.b)
    for (float& x : row) x = half(normal(random));
  for (auto& row : m.c)
    for (float& x : row) x = normal(random);
  return m;
}

float expected(const Matrices& m, int row, int column, TensorCore model) {
  fp16 a[16], b[16];
  for (int k = 0; k < 16; ++k) a[k] = to_fp16(m.a[row][k]), b[k] = to_fp16(m.b[k][column]);
  return tensor_core_dot(a, b, m.c[row][column], 16, model);
}

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

TEST_CASE("mma: it has the bits of the tensor core that the options choose") {
  int differ = 0;
  for (const TensorCore model : {TensorCore::sm_90, TensorCore::sm_89, TensorCore::fast})
    for (unsigned seed = 1; seed <= 5; ++seed) {
      const Matrices m = numbers(seed, 1.0f);
      float d[16][8] = {};
      ExecOptions options;
      options.tensor_core = model;
      runs({1, 32, 0, options}, [&] { multiply_add(m, d); });
      for (int row = 0; row < 16; ++row)
        for (int column = 0; column < 8; ++column) {
          CHECK(std::bit_cast<std::uint32_t>(d[row][column]) ==
                std::bit_cast<std::uint32_t>(expected(m, row, column, model)));
          differ += d[row][column] != expected(m, row, column, TensorCore::sm_90);
        }
    }
  CHECK(differ > 100);  // or the choice would make no difference
  CHECK(ExecOptions{}.tensor_core == TensorCore::sm_90);
}

TEST_CASE("mma: every element has exactly one place, and the tables say which") {
  using namespace mma_layout;
  int a_held[16][16] = {}, b_held[16][8] = {}, c_held[16][8] = {};
  for (int lane = 0; lane < LANES; ++lane) {
    for (int e = 0; e < A_ELEMENTS; ++e) ++a_held[a(lane, e).row][a(lane, e).column];
    for (int e = 0; e < B_ELEMENTS; ++e) ++b_held[b(lane, e).row][b(lane, e).column];
    for (int e = 0; e < C_ELEMENTS; ++e) ++c_held[c(lane, e).row][c(lane, e).column];
  }
  for (int row = 0; row < 16; ++row)
    for (int column = 0; column < 16; ++column) {
      CHECK(a_held[row][column] == 1);
      if (column < 8) CHECK(b_held[row][column] == 1);
      if (column < 8) CHECK(c_held[row][column] == 1);
    }
  // Corners, as the manual's figures show them.
  CHECK(a(0, 0) == Place{0, 0});
  CHECK(a(0, 2) == Place{8, 0});
  CHECK(a(0, 4) == Place{0, 8});
  CHECK(a(31, 7) == Place{15, 15});
  CHECK(b(0, 2) == Place{8, 0});
  CHECK(b(4, 0) == Place{0, 1});
  CHECK(b(31, 3) == Place{15, 7});
  CHECK(c(1, 1) == Place{0, 3});
  CHECK(c(31, 3) == Place{15, 7});
}

TEST_CASE("mma: lanes that are elsewhere or gone are named") {
  int mma = 0, shuffle = 0;
  const auto call = [] {
    float c[4] = {};
    const unsigned a[4] = {}, b[2] = {};
    mma_m16n8k16(c, a, b);
  };
  Outcome outcome = run({1, 64}, [&] {
    if (lane_id() < 20)
      HERE(mma, call());
    else
      HERE(shuffle, __syncwarp());
  });
  check_failed(outcome, cudaErrorLaunchFailure, Kind::collective, "warp 0 lane 20",
               "__syncwarp with mask 0xffffffff meets lanes 0..19 in mma.sync");

  outcome = run({1, 32}, [&] {
    if (lane_id() == 7) return;
    call();
  });
  check_failed(outcome, cudaErrorLaunchFailure, Kind::collective, "mma.sync");

  outcome = run({1, 20}, [&] { call(); });  // no whole warp
  check_failed(outcome, cudaErrorLaunchFailure, Kind::collective,
               "mma.sync with mask 0xffffffff, which names lanes that have returned or do not exist");
}
