// CUDA on the CPU: shuffles, votes and reductions against results computed by hand, divergence, and each misuse of
// a collective with the code and the text that it must give.
#include <cuda_fp16.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "checks/tests/test_exec.hpp"
#include "common/warp.cuh"

using namespace lab;

// --- shuffles ------------------------------------------------------------------------------------

namespace {
// CUDA C++ Programming Guide, "Warp Shuffle Functions": segments of `width` lanes, positions inside them.
int index_source(int lane, int source, int width) { return lane / width * width + source % width; }
int up_source(int lane, int delta, int width) { return lane % width >= delta ? lane - delta : lane; }
int down_source(int lane, int delta, int width) { return lane % width + delta < width ? lane + delta : lane; }
int xor_source(int lane, int flip, int width) {  // an earlier segment may be read, a later one not
  const int source = lane ^ flip;
  return source / width <= lane / width ? source : lane;
}

// Other bits in every byte and lane, of no NaN.
template <class T>
T value_of(int lane) {
  T value;
  for (std::size_t i = 0; i < sizeof(T); ++i)
    reinterpret_cast<unsigned char*>(&value)[i] = (unsigned char)((unsigned(lane) * 37 + 11 * unsigned(i) + 3) % 59);
  return value;
}

template <class T>
bool same_bits(const T& a, const T& b) {
  return std::memcmp(&a, &b, sizeof(T)) == 0;
}

}  // namespace

TEST_CASE_TEMPLATE("exec: each shuffle, each width and operand, moves the bits that CUDA documents", T, int, unsigned,
                   float, double, std::uint64_t, std::int64_t, half, std::uint16_t, half2, float2) {
  for (const int width : {2, 4, 8, 16, 32}) {
    for (int operand = -1; operand < 38; operand = operand == 32 ? 37 : operand + 1) {
      T got[4][64];
      const Outcome outcome = runs({1, 64, 0, in_order(Schedule::round_robin)}, [&, operand, width] {
        const int thread = int(threadIdx.x);
        const T mine = value_of<T>(thread);
        got[0][thread] = __shfl_sync(FULL, mine, operand, width);
        got[1][thread] = __shfl_up_sync(FULL, mine, unsigned(operand), width);
        got[2][thread] = __shfl_down_sync(FULL, mine, unsigned(operand), width);
        got[3][thread] = __shfl_xor_sync(FULL, mine, operand, width);
      });
      CHECK(outcome.report.lane_collectives == 64u * 4 * (sizeof(T) == 8 ? 2 : 1));
      for (int thread = 0; thread < 64; ++thread) {
        const int lane = thread % 32, base = thread - lane;
        const int five = operand & 31;  // bits, of which the instruction takes no more
        const int source[4] = {index_source(lane, five, width), up_source(lane, five, width),
                               down_source(lane, five, width), xor_source(lane, five, width)};
        for (int kind = 0; kind < 4; ++kind) {
          const bool right = same_bits(got[kind][thread], value_of<T>(base + source[kind]));
          if (!right) FAIL_CHECK("kind " << kind << ", operand " << operand << ", width " << width << ", " << thread);
        }
      }
    }
  }
}

// --- votes, syncs, reductions --------------------------------------------------------------------

TEST_CASE("exec: ballot, any and all, of the lanes of their mask") {
  under_all_schedules([](const ExecOptions& options) {
    unsigned odd[32], none[32], every[32], votes[32];
    int all[32], any[32];
    runs({1, 32, 0, options}, [&] {
      const int lane = lane_id();
      odd[lane] = __ballot_sync(FULL, lane & 1);
      none[lane] = __ballot_sync(FULL, 0);
      every[lane] = __ballot_sync(FULL, -5);  // any non-zero value is true
      const unsigned mask = lane % 2 ? 0xAAAAAAAAu : 0x55555555u;
      votes[lane] = __ballot_sync(mask, lane >= 8);
      all[lane] = __all_sync(mask, lane % 2);
      any[lane] = __any_sync(mask, lane == 6);
    });
    for (int lane = 0; lane < 32; ++lane) {
      CHECK((odd[lane] == 0xAAAAAAAAu && none[lane] == 0u && every[lane] == FULL));
      CHECK(votes[lane] == (lane % 2 ? 0xAAAAAA00u : 0x55555500u));
      CHECK(bool(all[lane]) == (lane % 2 == 1));
      CHECK(bool(any[lane]) == (lane % 2 == 0));
    }
  });
}

TEST_CASE("exec: warp_sum and warp_max are the five-step butterfly, bit for bit") {
  std::uint64_t state = 0x1234567;
  for (int round = 0; round < 24; ++round) {
    float input[32], fast[2][32], slow[2][32];
    for (float& x : input) {
      state = state * 6364136223846793005ull + 1442695040888963407ull;
      x = std::ldexp(float(std::int32_t(state >> 32)),
                     int(state >> 8 & 63) - 48);  // magnitudes far apart: order matters
    }
    if (round == 1) input[5] = -INFINITY;
    if (round == 2) input[5] = INFINITY, input[21] = -INFINITY;
    if (round == 3) input[9] = std::nanf("");
    if (round == 4) std::fill(input, input + 32, -INFINITY);
    if (round == 5) std::fill(input, input + 32, -0.0f);
    if (round == 6) std::fill(input, input + 32, 1e-40f);
    const Outcome outcome = runs({1, 32}, [&] {
      const int lane = lane_id();
      fast[0][lane] = warp_sum(input[lane]), fast[1][lane] = warp_max(input[lane]);
      float s = input[lane], m = input[lane];
      for (int distance = 16; distance > 0; distance /= 2) s += __shfl_xor_sync(FULL, s, distance);
      for (int distance = 16; distance > 0; distance /= 2) m = fmaxf(m, __shfl_xor_sync(FULL, m, distance));
      slow[0][lane] = s, slow[1][lane] = m;
    });
    CHECK(outcome.report.lane_collectives == 32u * (2 + 10));
    CAPTURE(round);
    for (int i = 0; i < 64; ++i) {
      const float a = fast[i / 32][i % 32], b = slow[i / 32][i % 32];
      CHECK((same_bits(a, b) || (i < 32 && std::isnan(a) && std::isnan(b))));  // which NaN of several is not said
    }
  }
}

// --- masks and divergence ------------------------------------------------------------------------

TEST_CASE("exec: divergence three levels deep, and back") {
  under_all_schedules([](const ExecOptions& options) {
    int trace[32] = {};
    unsigned reconverged[32] = {};
    runs({1, 32, 0, options}, [&] {
      const int lane = lane_id();
      if (lane < 16) {
        trace[lane] += int(__ballot_sync(0x0000FFFFu, lane % 2));  // 0xAAAA
        if (lane < 8) {
          trace[lane] += __shfl_sync(0x000000FFu, lane, 5) * 0x10000;
          if (lane < 4) {
            __syncwarp(0x0000000Fu);
            trace[lane] += __shfl_down_sync(0x0000000Fu, lane, 1, 4) * 0x1000000;
          } else {
            trace[lane] += __shfl_xor_sync(0x000000F0u, lane, 3) * 0x1000000;
          }
          trace[lane] += std::popcount(__ballot_sync(0x000000FFu, 1));
        }
      } else {
        trace[lane] = -__shfl_up_sync(0xFFFF0000u, lane, 4, 16);
      }
      reconverged[lane] = __ballot_sync(FULL, trace[lane] < 0);
    });
    for (int lane = 0; lane < 32; ++lane) {
      CAPTURE(lane);
      CHECK(reconverged[lane] == 0xFFFF0000u);
      int expected = 0xAAAA;
      if (lane < 8) expected += 5 * 0x10000 + 8;
      if (lane < 4) expected += std::min(lane + 1, 3) * 0x1000000;
      if (lane >= 4 && lane < 8) expected += (lane ^ 3) * 0x1000000;
      if (lane >= 16) expected = -(lane < 20 ? lane : lane - 4);
      CHECK(trace[lane] == expected);
    }
  });
}

TEST_CASE("exec: overlapping masks, open at the same time, are legal while no thread waits for a waiting lane") {
  under_all_schedules([](const ExecOptions& options) {
    unsigned first[32] = {}, second[32] = {};
    runs({1, 32, 0, options}, [&] {
      const int lane = lane_id();
      if (lane < 16) first[lane] = __ballot_sync(0x0000FFFFu, lane >= 12);
      if (lane >= 8 && lane < 24) second[lane] = __ballot_sync(0x00FFFF00u, lane < 10);  // 16..23 wait here for 8..15
    });
    for (int lane = 0; lane < 16; ++lane) CHECK(first[lane] == 0xF000u);
    for (int lane = 8; lane < 24; ++lane) CHECK(second[lane] == 0x300u);
  });
}

TEST_CASE("exec: a collective of one lane waits for nobody") {
  under_all_schedules([](const ExecOptions& options) {
    unsigned votes[32] = {};
    int own[32] = {};
    runs({1, 32, 0, options}, [&] {
      const int lane = lane_id();
      for (int i = 0; i <= lane; ++i) {  // each lane another number of times
        votes[lane] = __ballot_sync(1u << lane, 1);
        own[lane] += __shfl_sync(1u << lane, lane, lane);
        __syncwarp(1u << lane);
      }
    });
    for (int lane = 0; lane < 32; ++lane) {
      CHECK(votes[lane] == 1u << lane);
      CHECK(own[lane] == lane * (lane + 1));
    }
  });
}

TEST_CASE("exec: lanes that have returned, or never existed, are not waited for by functions with a mask") {
  for (const Schedule schedule : SCHEDULES) {
    unsigned votes[40] = {}, shifted[40] = {};
    runs({1, 40, 0, in_order(schedule)}, [&] {
      if (threadIdx.x < 3) return;
      votes[threadIdx.x] = __ballot_sync(FULL, 1);
      shifted[threadIdx.x] = __shfl_xor_sync(FULL, threadIdx.x, 4u);
      if (threadIdx.x == 39) return;
      __syncwarp();
    });
    CHECK(votes[5] == 0xFFFFFFF8u);
    CHECK(votes[35] == 0x000000FFu);
    CHECK(shifted[8] == 12);
    CHECK(shifted[33] == 37);
  }
}
