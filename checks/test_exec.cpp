// How CUDA code executes on the CPU: collectives against results computed by hand, divergence, early exit,
// launch limits, memory, schedules, and each misuse with the code and the text that it must give.
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>
#include <doctest/doctest.h>

#include <bit>
#include <chrono>
#include <functional>
#include <numeric>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/backend.hpp"
#include "common/cpu/exec/shared_memory.hpp"
#include "common/launch.cuh"
#include "common/smem_plan.cuh"
#include "common/warp.cuh"

namespace {
using namespace lab;

constexpr unsigned FULL = FULL_WARP;
const std::string FILE_NAME = "checks/test_exec.cpp";

struct Outcome {
  cudaError_t launched{}, finished{};
  ExecReport report;
  const std::string& message() const { return report.message; }
  bool ok() const { return launched == cudaSuccess && finished == cudaSuccess && report.message.empty(); }
};

// Runs `thread` as the kernel "probe". Kernels here are lambdas that write into the test's own arrays: a
// block's threads never run at the same time, so only blocks need places of their own.
Outcome run(dim3 grid, dim3 block, const std::function<void()>& thread, const ExecOptions& options = {},
            std::size_t smem = 0) {
  take_exec_report();
  cudaGetLastError();
  cudaDeviceSynchronize();
  set_exec_options(options);
  static const char identity = 0;
  Outcome outcome;
  outcome.launched = cpu::launch({"probe", &identity, grid, block, smem}, thread);
  outcome.finished = cudaDeviceSynchronize();
  outcome.report = take_exec_report();
  set_exec_options({});
  return outcome;
}

ExecOptions in_order(Schedule schedule, std::uint64_t seed = 1, int workers = 1) {
  ExecOptions options;
  options.schedule = schedule, options.seed = seed, options.workers = workers;
  return options;
}

// Every schedule: what a correct kernel computes must not depend on it.
template <class Body>
void under_all_schedules(Body body) {
  for (const Schedule schedule :
       {Schedule::ascending, Schedule::descending, Schedule::round_robin, Schedule::random})
    for (std::uint64_t seed = 1; seed <= (schedule == Schedule::random ? 3 : 1); ++seed) {
      CAPTURE(std::string(name(schedule)));
      CAPTURE(seed);
      body(in_order(schedule, seed));
    }
}

int lane_id() { return int(threadIdx.x % 32); }

bool contains(const std::string& text, const std::string& piece) {
  return text.find(piece) != std::string::npos;
}
#define CHECK_CONTAINS(text, piece) \
  CHECK_MESSAGE(contains(text, piece), "'" << (text) << "' lacks '" << (piece) << "'")
std::string at_line(int line) { return " at " + FILE_NAME + ":" + std::to_string(line) + ": "; }

// Notes the line that a report must name, and does it.
#define HERE(line, ...) \
  do {                  \
    line = __LINE__;    \
    __VA_ARGS__;        \
  } while (false)

// The one finding of a failed launch, of the kind that the failure is.
void check_failed(const Outcome& outcome, cudaError_t error, Finding::Kind kind) {
  CHECK(outcome.launched == cudaSuccess);
  CHECK_MESSAGE(outcome.finished == error, cudaGetErrorName(outcome.finished) << ": " << outcome.message());
  REQUIRE(outcome.report.findings.size() == 1);
  CHECK(outcome.report.findings[0].kind == kind);
  CHECK(outcome.report.findings[0].kernel == "probe");
}

// --- shuffles ------------------------------------------------------------------------------------

// CUDA C++ Programming Guide, "Warp Shuffle Functions": segments of `width` lanes, positions inside them.
int index_source(int lane, int source, int width) {
  return lane / width * width + ((source % width) + width) % width;
}
int up_source(int lane, int delta, int width) { return lane % width >= delta ? lane - delta : lane; }
int down_source(int lane, int delta, int width) { return lane % width + delta < width ? lane + delta : lane; }
int xor_source(int lane, int flip, int width) {  // an earlier segment may be read, a later one not
  const int source = lane ^ flip;
  return source / width <= lane / width ? source : lane;
}

template <class T>
T value_of(int lane);
template <>
int value_of<int>(int lane) {
  return lane * 1000003 - 7;
}
template <>
unsigned value_of<unsigned>(int lane) {
  return 0xF0000000u + unsigned(lane);
}
template <>
float value_of<float>(int lane) {
  return 0.1f * float(lane) - 1.5f;
}
template <>
double value_of<double>(int lane) {
  return 1.0 / (lane + 3);
}
template <>
std::uint64_t value_of<std::uint64_t>(int lane) {
  return 0x0123456789ABCDEFull * unsigned(lane + 1);
}
template <>
std::int64_t value_of<std::int64_t>(int lane) {
  return -0x100000001ll * (lane + 1);
}
template <>
half value_of<half>(int lane) {
  return half(0.25f * float(lane) - 3.0f);
}
template <>
std::uint16_t value_of<std::uint16_t>(int lane) {
  return std::uint16_t(0xFF00 + lane);
}
template <>
half2 value_of<half2>(int lane) {
  return {value_of<half>(lane), half(float(lane))};
}
template <>
float2 value_of<float2>(int lane) {
  return {value_of<float>(lane), float(lane)};
}

template <class T>
bool same_bits(const T& a, const T& b) {
  return std::memcmp(&a, &b, sizeof(T)) == 0;
}

}  // namespace

TEST_CASE_TEMPLATE("exec: each shuffle, each width and operand, moves the bits that CUDA documents", T, int,
                   unsigned, float, double, std::uint64_t, std::int64_t, half, std::uint16_t, half2, float2) {
  for (const int width : {2, 4, 8, 16, 32}) {
    for (int operand = 0; operand < 32; ++operand) {
      T got[4][64];
      const Outcome outcome = run(
          1, 64,
          [&, operand, width] {
            const int thread = int(threadIdx.x);
            const T mine = value_of<T>(thread);
            got[0][thread] = __shfl_sync(FULL, mine, operand, width);
            got[1][thread] = __shfl_up_sync(FULL, mine, unsigned(operand), width);
            got[2][thread] = __shfl_down_sync(FULL, mine, unsigned(operand), width);
            got[3][thread] = __shfl_xor_sync(FULL, mine, operand, width);
          },
          in_order(Schedule::round_robin));
      REQUIRE(outcome.ok());
      CHECK(outcome.report.lane_collectives == 64u * 4 * (sizeof(T) == 8 ? 2 : 1));
      for (int thread = 0; thread < 64; ++thread) {
        const int lane = thread % 32, base = thread - lane;
        const int source[4] = {index_source(lane, operand, width), up_source(lane, operand, width),
                               down_source(lane, operand, width), xor_source(lane, operand, width)};
        for (int kind = 0; kind < 4; ++kind) {
          const bool right = same_bits(got[kind][thread], value_of<T>(base + source[kind]));
          if (!right) {
            CAPTURE(kind);
            CAPTURE(operand);
            CAPTURE(width);
            CAPTURE(thread);
            CHECK(right);
          }
        }
      }
    }
  }
}

TEST_CASE("exec: shuffles by hand, a few lanes written out") {
  int index[32], up[32], down[32], across[32], wrapped[32];
  const Outcome outcome = run(1, 32, [&] {
    const int lane = lane_id();
    index[lane] = __shfl_sync(FULL, 100 + lane, 3, 8);
    up[lane] = __shfl_up_sync(FULL, 100 + lane, 3, 8);
    down[lane] = __shfl_down_sync(FULL, 100 + lane, 3, 8);
    across[lane] = __shfl_xor_sync(FULL, 100 + lane, 8, 8);
    wrapped[lane] = __shfl_sync(FULL, 100 + lane, lane + 1);
  });
  REQUIRE(outcome.ok());
  CHECK(index[0] == 103);
  CHECK(index[7] == 103);
  CHECK(index[8] == 111);
  CHECK(index[31] == 127);
  CHECK(up[2] == 102);
  CHECK(up[3] == 100);
  CHECK(up[8] == 108);
  CHECK(up[15] == 112);
  CHECK(down[4] == 107);
  CHECK(down[5] == 105);
  CHECK(down[7] == 107);
  CHECK(down[8] == 111);
  CHECK(across[0] == 100);
  CHECK(across[8] == 100);
  CHECK(across[15] == 107);
  CHECK(across[24] == 116);
  CHECK(wrapped[30] == 131);
  CHECK(wrapped[31] == 100);
}

// PTX `shfl`: the operand is five bits, b[4:0]; a source out of the segment leaves the lane its own value.
TEST_CASE("exec: shuffle operands that are negative or larger than a warp") {
  int index[32], up[32], down[32], across[32], far_index[32], all_up[32], all_down[32];
  const Outcome outcome = run(1, 32, [&] {
    const int lane = lane_id();
    index[lane] = __shfl_sync(FULL, lane, -1, 16);
    far_index[lane] = __shfl_sync(FULL, lane, 37);
    up[lane] = __shfl_up_sync(FULL, lane, 0xFFFFFFFFu);
    down[lane] = __shfl_down_sync(FULL, lane, 0xFFFFFFFFu);
    across[lane] = __shfl_xor_sync(FULL, lane, -1);
    all_up[lane] = __shfl_up_sync(FULL, lane, 32);
    all_down[lane] = __shfl_down_sync(FULL, lane, 32);
  });
  REQUIRE_MESSAGE(outcome.ok(), outcome.message());
  for (int lane = 0; lane < 32; ++lane) {
    CAPTURE(lane);
    CHECK(index[lane] == lane / 16 * 16 + 15);
    CHECK(far_index[lane] == 5);
    CHECK(up[lane] == (lane == 31 ? 0 : lane));
    CHECK(down[lane] == (lane == 0 ? 31 : lane));
    CHECK(across[lane] == 31 - lane);
    CHECK(all_up[lane] == lane);
    CHECK(all_down[lane] == lane);
  }
}

// --- votes, syncs, reductions --------------------------------------------------------------------

TEST_CASE("exec: ballot, any and all") {
  under_all_schedules([](const ExecOptions& options) {
    unsigned odd[32], none[32], every[32];
    int any[32], any_not[32], all[32], all_not[32];
    const Outcome outcome = run(
        1, 32,
        [&] {
          const int lane = lane_id();
          odd[lane] = __ballot_sync(FULL, lane & 1);
          none[lane] = __ballot_sync(FULL, 0);
          every[lane] = __ballot_sync(FULL, -5);  // any non-zero value is true
          any[lane] = __any_sync(FULL, lane == 17);
          any_not[lane] = __any_sync(FULL, lane > 31);
          all[lane] = __all_sync(FULL, lane < 32);
          all_not[lane] = __all_sync(FULL, lane != 17);
        },
        options);
    REQUIRE(outcome.ok());
    for (int lane = 0; lane < 32; ++lane) {
      CHECK(odd[lane] == 0xAAAAAAAAu);
      CHECK(none[lane] == 0u);
      CHECK(every[lane] == FULL);
      CHECK(any[lane] != 0);
      CHECK(any_not[lane] == 0);
      CHECK(all[lane] != 0);
      CHECK(all_not[lane] == 0);
    }
  });
}

TEST_CASE("exec: votes count only the lanes of their mask") {
  unsigned votes[32] = {};
  int all[32] = {}, any[32] = {};
  const Outcome outcome = run(1, 32, [&] {
    const int lane = lane_id();
    const unsigned mask = lane % 2 ? 0xAAAAAAAAu : 0x55555555u;
    votes[lane] = __ballot_sync(mask, lane >= 8);
    all[lane] = __all_sync(mask, lane % 2);
    any[lane] = __any_sync(mask, lane == 6);
  });
  REQUIRE(outcome.ok());
  for (int lane = 0; lane < 32; ++lane) {
    CHECK(votes[lane] == (lane % 2 ? 0xAAAAAA00u : 0x55555500u));
    CHECK(bool(all[lane]) == (lane % 2 == 1));
    CHECK(bool(any[lane]) == (lane % 2 == 0));
  }
}

TEST_CASE("exec: __syncwarp holds every lane of its mask until the last is there") {
  under_all_schedules([](const ExecOptions& options) {
    int arrived[2] = {}, seen[64] = {};
    const Outcome outcome = run(
        1, 64,
        [&] {
          const int thread = int(threadIdx.x), warp = thread / 32;
          ++arrived[warp];
          __syncwarp();
          seen[thread] = arrived[warp];
          __syncwarp();
        },
        options);
    REQUIRE(outcome.ok());
    for (int thread = 0; thread < 64; ++thread) CHECK(seen[thread] == 32);
  });
}

TEST_CASE("exec: warp_sum and warp_max are the five-step butterfly, bit for bit") {
  std::uint64_t state = 0x1234567;
  for (int round = 0; round < 24; ++round) {
    float input[32], sum[32], max[32], slow_sum[32], slow_max[32];
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
    const Outcome outcome = run(1, 32, [&] {
      const int lane = lane_id();
      sum[lane] = warp_sum(input[lane]);
      max[lane] = warp_max(input[lane]);
      float s = input[lane], m = input[lane];
      for (int distance = 16; distance > 0; distance /= 2) s += __shfl_xor_sync(FULL, s, distance);
      for (int distance = 16; distance > 0; distance /= 2) m = fmaxf(m, __shfl_xor_sync(FULL, m, distance));
      slow_sum[lane] = s, slow_max[lane] = m;
    });
    REQUIRE(outcome.ok());
    CHECK(outcome.report.lane_collectives == 32u * (2 + 10));
    CAPTURE(round);
    for (int lane = 0; lane < 32; ++lane) {
      if (std::isnan(slow_sum[lane]))
        CHECK(std::isnan(sum[lane]));  // which NaN of several comes out is not the butterfly's to say
      else
        CHECK(std::bit_cast<std::uint32_t>(sum[lane]) == std::bit_cast<std::uint32_t>(slow_sum[lane]));
      CHECK(std::bit_cast<std::uint32_t>(max[lane]) == std::bit_cast<std::uint32_t>(slow_max[lane]));
    }
  }
}

// --- masks and divergence ------------------------------------------------------------------------

TEST_CASE("exec: half warps in flight at once, each in its own collective") {
  under_all_schedules([](const ExecOptions& options) {
    int low[32] = {}, result[32] = {};
    const Outcome outcome = run(
        1, 32,
        [&] {
          const int lane = lane_id();
          if (lane < 16) {
            int sum = lane;
            for (int distance = 8; distance > 0; distance /= 2)
              sum += __shfl_xor_sync(0x0000FFFFu, sum, distance);
            result[lane] = sum;
          } else {
            low[lane] = __shfl_sync(0xFFFF0000u, lane, 20);
            result[lane] = int(__ballot_sync(0xFFFF0000u, lane & 2));
          }
        },
        options);
    REQUIRE(outcome.ok());
    for (int lane = 0; lane < 16; ++lane) CHECK(result[lane] == 120);
    for (int lane = 16; lane < 32; ++lane) {
      CHECK(low[lane] == 20);
      CHECK(unsigned(result[lane]) == 0xCCCC0000u);
    }
  });
}

TEST_CASE("exec: divergence three levels deep, and back") {
  under_all_schedules([](const ExecOptions& options) {
    int trace[32] = {};
    unsigned reconverged[32] = {};
    const Outcome outcome = run(
        1, 32,
        [&] {
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
        },
        options);
    REQUIRE_MESSAGE(outcome.ok(), outcome.message());
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

TEST_CASE("exec: overlapping masks, open at the same time, are legal while nobody waits for a waiting lane") {
  under_all_schedules([](const ExecOptions& options) {
    unsigned first[32] = {}, second[32] = {};
    const Outcome outcome = run(
        1, 32,
        [&] {
          const int lane = lane_id();
          if (lane < 16) first[lane] = __ballot_sync(0x0000FFFFu, lane >= 12);
          if (lane >= 8 && lane < 24)
            second[lane] = __ballot_sync(0x00FFFF00u, lane < 10);  // 16..23 wait here for 8..15
        },
        options);
    REQUIRE_MESSAGE(outcome.ok(), outcome.message());
    for (int lane = 0; lane < 16; ++lane) CHECK(first[lane] == 0xF000u);
    for (int lane = 8; lane < 24; ++lane) CHECK(second[lane] == 0x300u);
  });
}

TEST_CASE("exec: a collective of one lane waits for nobody") {
  under_all_schedules([](const ExecOptions& options) {
    unsigned votes[32] = {};
    int own[32] = {};
    const Outcome outcome = run(
        1, 32,
        [&] {
          const int lane = lane_id();
          for (int i = 0; i <= lane; ++i) {  // each lane another number of times
            votes[lane] = __ballot_sync(1u << lane, 1);
            own[lane] += __shfl_sync(1u << lane, lane, lane);
            __syncwarp(1u << lane);
          }
        },
        options);
    REQUIRE_MESSAGE(outcome.ok(), outcome.message());
    for (int lane = 0; lane < 32; ++lane) {
      CHECK(votes[lane] == 1u << lane);
      CHECK(own[lane] == lane * (lane + 1));
    }
  });
}

// --- early exit and block barriers ---------------------------------------------------------------

TEST_CASE("exec: lanes that return early, and the rest go on with a mask of their own") {
  under_all_schedules([](const ExecOptions& options) {
    int sum[32] = {};
    const Outcome outcome = run(
        1, 32,
        [&] {
          const int lane = lane_id();
          if (lane >= 20) return;
          int s = lane;
          for (int distance = 1; distance < 4; distance *= 2) s += __shfl_xor_sync(0x000FFFFFu, s, distance);
          sum[lane] = s;
        },
        options);
    REQUIRE_MESSAGE(outcome.ok(), outcome.message());
    CHECK(outcome.report.findings.empty());
    for (int lane = 0; lane < 20; ++lane) CHECK(sum[lane] == lane / 4 * 16 + 6);
  });
}

TEST_CASE("exec: a block barrier after a whole warp has returned runs on, and is reported") {
  under_all_schedules([](const ExecOptions& options) {
    int before = 0, seen[96] = {};
    int line = 0;
    const Outcome outcome = run(
        dim3(2), 96,
        [&] {
          const int thread = int(threadIdx.x);
          if (thread == 0) before = 0;
          if (thread / 32 == 1) return;
          ++before;
          HERE(line, __syncthreads());
          seen[thread] = before;
        },
        options);
    CHECK(outcome.ok());
    REQUIRE(outcome.report.findings.size() == 1);
    const Finding& f = outcome.report.findings[0];
    CHECK(f.kind == Finding::Kind::barrier);
    CHECK(f.second.file == FILE_NAME);
    CHECK(f.second.line == line);
    CHECK(f.second.warp == 1);
    CHECK(f.block == 0u);
    CHECK(f.count == 2u);
    CHECK_CONTAINS(f.text, "warp 1 lanes 0..31");
    if (options.schedule == Schedule::ascending)
      for (int thread = 0; thread < 96; ++thread) CHECK(seen[thread] == (thread / 32 == 1 ? 0 : 64));
  });
}

TEST_CASE("exec: the last thread to return releases a barrier that waits for nobody else") {
  int passed = 0;
  const Outcome outcome = run(
      1, 64,
      [&] {
        if (threadIdx.x == 63) return;  // ascending: the 63 others wait by now
        __syncthreads();
        ++passed;
      },
      in_order(Schedule::ascending));
  CHECK(outcome.ok());
  CHECK(passed == 63);
  REQUIRE(outcome.report.findings.size() == 1);
  CHECK(outcome.report.findings[0].kind == Finding::Kind::barrier);
  CHECK_CONTAINS(outcome.report.findings[0].text, "warp 1 lanes 31");
}

TEST_CASE("exec: __syncthreads holds all warps, whatever the block size") {
  for (const unsigned threads : {1u, 31u, 33u, 48u, 96u, 256u, 500u, 1024u})
    under_all_schedules([&](const ExecOptions& options) {
      CAPTURE(threads);
      unsigned arrived = 0;
      std::vector<unsigned> first(threads), second(threads);
      const Outcome outcome = run(
          1, threads,
          [&] {
            ++arrived;
            __syncthreads();
            first[threadIdx.x] = arrived;
            __syncthreads();
            ++arrived;
            __syncthreads();
            second[threadIdx.x] = arrived;
          },
          options);
      REQUIRE(outcome.ok());
      CHECK(outcome.report.findings.empty());
      CHECK(first == std::vector<unsigned>(threads, threads));
      CHECK(second == std::vector<unsigned>(threads, 2 * threads));
    });
}

TEST_CASE("exec: a last warp with missing lanes works with a mask of those it has") {
  int sum[48] = {};
  const Outcome outcome = run(1, 48, [&] {
    const unsigned mask = threadIdx.x < 32 ? FULL : 0x0000FFFFu;
    int s = int(threadIdx.x);
    for (int distance = 8; distance > 0; distance /= 2) s += __shfl_xor_sync(mask, s, distance, 16);
    sum[threadIdx.x] = s;
  });
  REQUIRE_MESSAGE(outcome.ok(), outcome.message());
  CHECK(sum[0] == 120);
  CHECK(sum[16] == 376);
  CHECK(sum[47] == 632);
}

TEST_CASE("exec: 1024 threads, every warp in collectives between barriers") {
  under_all_schedules([](const ExecOptions& options) {
    float partial[32] = {}, total = 0;
    const Outcome outcome = run(
        1, 1024,
        [&] {
          const float s = warp_sum(float(threadIdx.x));
          if (lane_id() == 0) partial[threadIdx.x / 32] = s;
          __syncthreads();
          if (threadIdx.x < 32) {
            const float t = warp_sum(partial[threadIdx.x]);
            if (threadIdx.x == 0) total = t;
          }
        },
        options);
    REQUIRE(outcome.ok());
    CHECK(total == 1023.0f * 512);
  });
}

// --- indices -------------------------------------------------------------------------------------

TEST_CASE("exec: threadIdx, blockIdx, blockDim and gridDim in one, two and three dimensions") {
  const std::pair<dim3, dim3> shapes[] = {{dim3(5), dim3(70)},
                                          {dim3(3, 2), dim3(9, 5)},
                                          {dim3(2, 3, 4), dim3(3, 5, 7)},
                                          {dim3(1, 1, 3), dim3(1, 1, 64)},
                                          {dim3(1, 7), dim3(1, 33)}};
  for (const auto& [grid, block] : shapes)
    for (const int workers : {1, 2}) {
      const std::size_t threads = std::size_t(block.x) * block.y * block.z,
                        blocks = std::size_t(grid.x) * grid.y * grid.z;
      std::vector<int> runs(threads * blocks);
      std::vector<int> order_ok(threads * blocks);
      const dim3 g = grid, b = block;
      const Outcome outcome = run(
          g, b,
          [&, g, b] {
            const std::size_t thread = threadIdx.x + b.x * (threadIdx.y + std::size_t(b.y) * threadIdx.z);
            const std::size_t block_number = blockIdx.x + g.x * (blockIdx.y + std::size_t(g.y) * blockIdx.z);
            const std::size_t at = block_number * threads + thread;
            ++runs[at];
            const bool dims = blockDim.x == b.x && blockDim.y == b.y && blockDim.z == b.z &&
                              gridDim.x == g.x && gridDim.y == g.y && gridDim.z == g.z;
            __syncthreads();  // and they are still this thread's after others have run
            const std::size_t again = threadIdx.x + b.x * (threadIdx.y + std::size_t(b.y) * threadIdx.z);
            order_ok[at] =
                dims && again == thread && threadIdx.x < b.x && threadIdx.y < b.y && threadIdx.z < b.z;
          },
          in_order(Schedule::round_robin, 1, workers));
      REQUIRE(outcome.ok());
      CHECK(runs == std::vector<int>(threads * blocks, 1));
      CHECK(order_ok == std::vector<int>(threads * blocks, 1));
      CHECK(outcome.report.blocks_run == blocks);
      CHECK(outcome.report.blocks_total == blocks);
    }
}

TEST_CASE("exec: warps are made of threads in x, then y, then z") {
  int lane_of[4][4][4] = {};
  const Outcome outcome = run(1, dim3(4, 4, 4), [&] {
    const unsigned linear = threadIdx.x + 4 * threadIdx.y + 16 * threadIdx.z;
    lane_of[threadIdx.z][threadIdx.y][threadIdx.x] = __shfl_sync(FULL, int(linear), 31);
  });
  REQUIRE(outcome.ok());
  CHECK(lane_of[0][0][0] == 31);
  CHECK(lane_of[1][3][3] == 31);
  CHECK(lane_of[2][0][0] == 63);
  CHECK(lane_of[3][2][1] == 63);
}

// --- misuse of collectives -----------------------------------------------------------------------

TEST_CASE("exec: a mask without the calling lane") {
  int line = 0;
  const Outcome outcome = run(dim3(4, 2), 64, [&] {
    if (blockIdx.x == 2 && blockIdx.y == 1 && threadIdx.x == 37) HERE(line, __syncwarp(0x00000F00u));
  });
  check_failed(outcome, cudaErrorLaunchFailure, Finding::Kind::collective);
  CHECK(outcome.message() == "probe: block (2,1,0) warp 1 lane 5" + at_line(line) +
                                 "__syncwarp with mask 0xf00, which does not name the calling lane");
  const Finding& f = outcome.report.findings[0];
  CHECK(f.second.warp == 1);
  CHECK(f.second.lane == 5);
  CHECK(f.second.line == line);
  CHECK(f.second.file == FILE_NAME);
  CHECK(f.block == 6u);
  CHECK(f.count == 1u);
  CHECK(int(outcome.finished) == 719);
}

TEST_CASE("exec: a mask that names lanes which have returned, or never existed") {
  int line = 0;
  Outcome outcome = run(
      1, 32,
      [&] {
        if (threadIdx.x < 3) return;
        HERE(line, __ballot_sync(FULL, 1));
      },
      in_order(Schedule::ascending));
  check_failed(outcome, cudaErrorLaunchFailure, Finding::Kind::collective);
  CHECK(outcome.message() ==
        "probe: block (0,0,0) warp 0 lane 3" + at_line(line) +
            "__ballot_sync with mask 0xffffffff, which names lanes that have returned or do not exist: 0..2");
  outcome = run(
      1, 40,
      [&] {
        if (threadIdx.x >= 32) HERE(line, __syncwarp());
      },
      in_order(Schedule::descending));
  check_failed(outcome, cudaErrorLaunchFailure, Finding::Kind::collective);
  CHECK(outcome.message() ==
        "probe: block (0,0,0) warp 1 lane 7" + at_line(line) +
            "__syncwarp with mask 0xffffffff, which names lanes that have returned or do not exist: 8..31");
}

TEST_CASE("exec: a shuffle that reads a lane outside its mask") {
  int line = 0, out = 0;
  Outcome outcome = run(
      1, 32,
      [&] {
        if (threadIdx.x < 16) HERE(line, out = __shfl_down_sync(0x0000FFFFu, 1, 1));
      },
      in_order(Schedule::descending));
  check_failed(outcome, cudaErrorLaunchFailure, Finding::Kind::collective);
  CHECK(outcome.message() == "probe: block (0,0,0) warp 0 lane 15" + at_line(line) +
                                 "__shfl_down_sync reads lane 16, which its mask does not name");
  outcome = run(1, 32, [&] {
    double x = 1;
    if (threadIdx.x < 16) HERE(line, x = __shfl_sync(0x0000FFFFu, x, 20));
    out += x > 0;
  });
  check_failed(outcome, cudaErrorLaunchFailure, Finding::Kind::collective);
  CHECK_CONTAINS(outcome.message(), at_line(line) + "__shfl_sync reads lane 20");
}

TEST_CASE("exec: a shuffle width that is no power of two up to 32") {
  for (const int width : {0, 3, 33, 64, -8}) {
    CAPTURE(width);
    int out[32];
    const Outcome outcome = run(1, 32, [&] { out[lane_id()] = __shfl_sync(FULL, 1, 0, width); });
    check_failed(outcome, cudaErrorLaunchFailure, Finding::Kind::collective);
    CHECK_CONTAINS(outcome.message(), "with width " + std::to_string(width));
  }
}

TEST_CASE("exec: lanes that meet in different collectives") {
  int line = 0, out = 0;
  SUBCASE("two kinds of vote") {
    const Outcome outcome = run(1, 32, [&] {
      if (threadIdx.x < 16)
        out += __any_sync(FULL, 1);
      else
        out += __all_sync(FULL, 1);
    });
    check_failed(outcome, cudaErrorLaunchFailure, Finding::Kind::collective);
    CHECK_CONTAINS(outcome.message(), "__all_sync with mask 0xffffffff meets lanes 0..15 in __any_sync");
  }
  SUBCASE("of another kind") {
    const Outcome outcome = run(
        1, 32,
        [&] {
          if (threadIdx.x < 16)
            __syncwarp();
          else
            HERE(line, out = __shfl_sync(FULL, 1, 0));
        },
        in_order(Schedule::ascending));
    check_failed(outcome, cudaErrorLaunchFailure, Finding::Kind::collective);
    CHECK(outcome.message() ==
          "probe: block (0,0,0) warp 0 lane 16" + at_line(line) +
              "__shfl_sync with mask 0xffffffff meets lanes 0..15 in __syncwarp with mask 0xffffffff");
  }
  SUBCASE("with another mask") {
    const Outcome outcome = run(
        1, 32,
        [&] {
          if (threadIdx.x < 8) __syncwarp(0x000000FFu | 0x80000000u);
          HERE(line, __syncwarp());
        },
        in_order(Schedule::ascending));
    check_failed(outcome, cudaErrorLaunchFailure, Finding::Kind::collective);
    // Lanes 8..30 are not in the mask of those who wait: it is lane 31 that both sides need.
    CHECK(outcome.message() ==
          "probe: block (0,0,0) warp 0 lane 31" + at_line(line) +
              "__syncwarp with mask 0xffffffff meets lanes 0..7 in __syncwarp with mask 0x800000ff");
  }
  SUBCASE("another shuffle") {
    const Outcome outcome = run(
        1, 32, [&] { out = threadIdx.x % 2 ? __shfl_up_sync(FULL, 1, 1) : __shfl_down_sync(FULL, 1, 1); },
        in_order(Schedule::descending));
    check_failed(outcome, cudaErrorLaunchFailure, Finding::Kind::collective);
    CHECK_CONTAINS(outcome.message(), "warp 0 lane 30");
    CHECK_CONTAINS(outcome.message(),
                   "__shfl_down_sync with mask 0xffffffff meets lanes 31 in __shfl_up_sync");
  }
  SUBCASE("a sum and a maximum") {
    const Outcome outcome = run(
        1, 32, [&] { out = int(threadIdx.x < 31 ? warp_sum(1) : warp_max(1)); },
        in_order(Schedule::ascending));
    check_failed(outcome, cudaErrorLaunchFailure, Finding::Kind::collective);
    CHECK_CONTAINS(outcome.message(), "warp 0 lane 31");
    CHECK_CONTAINS(outcome.message(),
                   "warp_max with mask 0xffffffff meets lanes 0..30 in warp_sum with mask 0xffffffff");
  }
}

TEST_CASE("exec: a lane that returns while others wait for it") {
  const Outcome outcome = run(
      dim3(1, 1, 3), 64,
      [&] {
        if (threadIdx.x != 63 || blockIdx.z != 1) __syncwarp();
      },
      in_order(Schedule::ascending));
  check_failed(outcome, cudaErrorLaunchFailure, Finding::Kind::collective);
  CHECK(outcome.message() ==
        "probe: block (0,0,1) warp 1 lane 31: returned while lanes 0..30 wait for it in __syncwarp with "
        "mask 0xffffffff");
}

TEST_CASE("exec: a misused collective that ends its kernel is still named by its line") {
  int line = 0;
  const auto last = [&] { HERE(line, __syncwarp(2u)); };
  const Outcome outcome = run(1, 1, last);
  check_failed(outcome, cudaErrorLaunchFailure, Finding::Kind::collective);
  CHECK_CONTAINS(outcome.message(), at_line(line));
}

// --- deadlock ------------------------------------------------------------------------------------

TEST_CASE("exec: a deadlock is a report that names who waits where") {
  int barrier_line = 0, sync_line = 0;
  const Outcome outcome = run(dim3(3), 64, [&] {
    if (blockIdx.x == 1 && threadIdx.x >= 34 && threadIdx.x < 40) {
      HERE(sync_line, __syncwarp(0x00000FFCu));  // lanes 8..11 are at the barrier
    }
    HERE(barrier_line, __syncthreads());
  });
  check_failed(outcome, cudaErrorLaunchTimeout, Finding::Kind::deadlock);
  CHECK(int(outcome.finished) == 702);
  CHECK(contains(outcome.message(), "probe: block (1,0,0) warp "));
  const auto place = [](int line) { return " (" + FILE_NAME + ":" + std::to_string(line) + ")."; };
  CHECK_CONTAINS(outcome.message(), "deadlock: no thread can go on.");
  CHECK_CONTAINS(outcome.message(), " Warp 0 lanes 0..31 wait at a block barrier" + place(barrier_line));
  CHECK_CONTAINS(outcome.message(),
                 " Warp 1 lanes 2..7 wait in __syncwarp for lanes 8..11" + place(sync_line));
  CHECK_CONTAINS(outcome.message(), " Warp 1 lanes 0..1,8..31 wait at a block barrier" + place(barrier_line));
}

TEST_CASE("exec: half a warp at a barrier, half in a collective of all") {
  under_all_schedules([](const ExecOptions& options) {
    const Outcome outcome = run(
        1, 32,
        [&] {
          if (threadIdx.x < 16) __syncthreads();
          __syncwarp();
        },
        options);
    check_failed(outcome, cudaErrorLaunchTimeout, Finding::Kind::deadlock);
    CHECK_CONTAINS(outcome.message(), "Warp 0 lanes 16..31 wait in __syncwarp for lanes 0..15");
    CHECK_CONTAINS(outcome.message(), "Warp 0 lanes 0..15 wait at a block barrier");
  });
}

TEST_CASE("exec: __trap is an error of the kernel, with its line") {
  int line = 0;
  const Outcome outcome = run(1, 64, [&] {
    if (threadIdx.x == 40) HERE(line, __trap());
  });
  check_failed(outcome, cudaErrorLaunchFailure, Finding::Kind::fault);
  CHECK(outcome.message() == "probe: block (0,0,0) warp 1 lane 8" + at_line(line) + "__trap");
}

// --- launch limits and error codes ---------------------------------------------------------------

TEST_CASE("exec: launches that CUDA refuses") {
  const auto refused = [](dim3 grid, dim3 block, const std::string& piece) {
    bool ran = false;
    const Outcome outcome = run(grid, block, [&] { ran = true; });
    CHECK(outcome.launched == cudaErrorInvalidConfiguration);
    CHECK(int(outcome.launched) == 9);
    CHECK(outcome.finished == cudaSuccess);
    CHECK_FALSE(ran);
    CHECK_CONTAINS(outcome.message(), "probe: ");
    CHECK_CONTAINS(outcome.message(), piece);
    CHECK(outcome.report.blocks_run == 0u);
  };
  refused(dim3(0), dim3(32), "(0,1,1)");
  refused(dim3(1, 0), dim3(32), "(1,0,1)");
  refused(dim3(1, 1, 0), dim3(32), "(1,1,0)");
  refused(dim3(1), dim3(0), "(0,1,1)");
  refused(dim3(1), dim3(1025), "1025 threads");
  refused(dim3(1), dim3(32, 33), "1056 threads");
  refused(dim3(1), dim3(1, 1, 65), "(1,1,65)");
  refused(dim3(1), dim3(65536, 65536), "(65536,65536,1)");  // 2^32 threads: no wrap-around
  refused(dim3(1, 65536), dim3(1), "(1,65536,1)");
  refused(dim3(1, 1, 65536), dim3(1), "(1,1,65536)");
  refused(dim3(2147483648u), dim3(1), "(2147483648,1,1)");
}

TEST_CASE("exec: the largest block and grid extents that CUDA allows") {
  const auto allowed = [](dim3 grid, dim3 block) {
    ExecOptions options;
    options.blocks = {0};
    int threads = 0;
    const Outcome outcome = run(
        grid, block, [&] { ++threads; }, options);
    CHECK(outcome.ok());
    CHECK(threads == int(block.x * block.y * block.z));
  };
  allowed(dim3(2147483647u), dim3(1));
  allowed(dim3(1, 65535), dim3(1024));
  allowed(dim3(1, 1, 65535), dim3(1, 1024));
  allowed(dim3(1), dim3(16, 1, 64));
}

namespace {
__global__ void empty_kernel() {}
__global__ void other_kernel() { blockDim.x == 0 ? __trap() : void(); }
template <int N>
__global__ void opted_in_kernel(int* out) {
  SmemCursor cursor;
  unsigned char* bytes = cursor.array<unsigned char>("bytes", N, 1);
  bytes[N - 1] = 7;
  *out = bytes[N - 1] + N;
}
}  // namespace

TEST_CASE("exec: dynamic shared memory, without and with the opt-in") {
  take_exec_report();
  const auto go = [](auto* kernel, std::size_t smem) {
    return launch("empty_kernel", kernel, 1, 32, smem, nullptr);
  };
  CHECK(go(empty_kernel, 0) == cudaSuccess);
  CHECK(go(empty_kernel, 49152) == cudaSuccess);
  CHECK(take_exec_report().message.empty());

  CHECK(go(empty_kernel, 49153) == cudaErrorInvalidValue);
  CHECK(cudaPeekAtLastError() == cudaErrorInvalidValue);
  CHECK(int(cudaGetLastError()) == 1);
  std::string message = take_exec_report().message;
  CHECK_CONTAINS(message, "empty_kernel: invalid argument");
  CHECK_CONTAINS(message, "49153");
  CHECK_CONTAINS(message, "49152");

  REQUIRE(opt_in_smem("empty_kernel", empty_kernel, 101376) == cudaSuccess);
  CHECK(go(empty_kernel, 101376) == cudaSuccess);
  CHECK(go(other_kernel, 49153) == cudaErrorInvalidValue);  // the attribute is one kernel's
  cudaGetLastError();
  take_exec_report();

  CHECK(go(empty_kernel, 101377) == cudaErrorInvalidConfiguration);
  message = take_exec_report().message;
  CHECK_CONTAINS(message, "101377");
  CHECK_CONTAINS(message, "101376");
  cudaGetLastError();

  CHECK(opt_in_smem("empty_kernel", empty_kernel, 101377) == cudaErrorInvalidConfiguration);
  message = take_exec_report().message;
  CHECK_CONTAINS(message, "101377");
  CHECK_CONTAINS(message, "101376");
  cudaGetLastError();
  CHECK(cudaFuncSetAttribute(empty_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 101377) ==
        cudaErrorInvalidValue);
  CHECK(cudaGetLastError() == cudaErrorInvalidValue);
  CHECK(cudaFuncSetAttribute(empty_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, -1) ==
        cudaErrorInvalidValue);
  cudaGetLastError();
  take_exec_report();

  // An attribute can be lowered, too.
  REQUIRE(opt_in_smem("empty_kernel", empty_kernel, 1000) == cudaSuccess);
  CHECK(go(empty_kernel, 1001) == cudaErrorInvalidValue);
  message = take_exec_report().message;
  CHECK_CONTAINS(message, "1001 B");
  CHECK_CONTAINS(message, "1000 B");
  cudaGetLastError();

  int out = 0;
  auto* kernel = opted_in_kernel<101376>;
  REQUIRE(opt_in_smem("opted_in_kernel", kernel, 101376) == cudaSuccess);
  CHECK(launch("opted_in_kernel", kernel, 1, 1, 101376, nullptr, &out) == cudaSuccess);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(out == 101383);
  take_exec_report();
}

TEST_CASE("exec: static shared memory ends at 48 KiB") {
  float out = 0;
  Outcome outcome = run(1, 1, [&] {
    LAB_SHARED(float, a, [64][128]);
    LAB_SHARED(float, b, [4096]);
    a[63][127] = 1, b[4095] = 2;
    out = a[63][127] + b[4095];
  });
  CHECK(outcome.ok());
  CHECK(out == 3);
  outcome = run(1, 1, [&] {
    LAB_SHARED(float, a, [64][128]);
    LAB_SHARED(float, b, [4097]);
    a[0][0] = 1, b[4096] = 2;
    out = a[0][0] + b[4096];
  });
  check_failed(outcome, cudaErrorInvalidConfiguration, Finding::Kind::out_of_bounds);
  CHECK_CONTAINS(outcome.message(), "49184 B");
  CHECK_CONTAINS(outcome.message(), "49152 B");
}

TEST_CASE("exec: who returns an error, and who clears it") {
  take_exec_report();
  cudaGetLastError();
  const auto refused = [] { return launch("empty_kernel", other_kernel, dim3(0), 32, 0, nullptr); };
  CHECK(refused() == cudaErrorInvalidConfiguration);
  CHECK(cudaPeekAtLastError() == cudaErrorInvalidConfiguration);
  CHECK(cudaPeekAtLastError() == cudaErrorInvalidConfiguration);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(cudaGetLastError() == cudaErrorInvalidConfiguration);
  CHECK(cudaGetLastError() == cudaSuccess);
  CHECK(cudaPeekAtLastError() == cudaSuccess);

  // Inside a kernel: the launch succeeds, the next synchronisation tells it once, and the next launch works.
  for (const bool stream : {false, true}) {
    CHECK(launch(
              "trapping", +[] { __trap(); }, 1, 32, 0, nullptr) == cudaSuccess);
    CHECK((stream ? cudaStreamSynchronize(nullptr) : cudaDeviceSynchronize()) == cudaErrorLaunchFailure);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    CHECK(launch("empty_kernel", other_kernel, 1, 32, 0, nullptr) == cudaSuccess);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
  }
  CHECK_CONTAINS(take_exec_report().message, "trapping: block (0,0,0) warp 0 lane 0");
  CHECK(take_exec_report().message.empty());  // the report was handed over
}

TEST_CASE("exec: error names, texts and values are CUDA's") {
  CHECK(std::string(cudaGetErrorName(cudaErrorIllegalAddress)) == "cudaErrorIllegalAddress");
  CHECK(std::string(cudaGetErrorString(cudaErrorIllegalAddress)) ==
        "an illegal memory access was encountered");
  CHECK(std::string(cudaGetErrorString(cudaErrorInvalidValue)) == "invalid argument");
  CHECK(std::string(cudaGetErrorString(cudaErrorInvalidConfiguration)) == "invalid configuration argument");
  CHECK(std::string(cudaGetErrorString(cudaErrorLaunchFailure)) == "unspecified launch failure");
  CHECK(int(cudaErrorLaunchTimeout) == 702);
  CHECK(int(cudaErrorLaunchFailure) == 719);
  CHECK(int(cudaErrorMisalignedAddress) == 716);
  CHECK(int(cudaErrorIllegalAddress) == 700);
  CHECK(int(cudaErrorInvalidValue) == 1);
  CHECK(int(cudaErrorInvalidConfiguration) == 9);
}

// --- shared memory -------------------------------------------------------------------------------

TEST_CASE("exec: shared memory is NaN, as fp32 and as fp16, at the start of every block") {
  constexpr int BLOCKS = 5, FLOATS = 300, HALVES = 500;
  for (const bool gaps : {false, true}) {
    int fresh_floats[BLOCKS] = {}, fresh_halves[BLOCKS] = {}, fresh_static[BLOCKS] = {};
    ExecOptions options = in_order(Schedule::ascending, 1, 2);
    options.gaps = gaps;
    const Outcome outcome = run(
        BLOCKS, 32,
        [&] {
          SmemCursor cursor;
          float* floats = cursor.array<float>("floats", FLOATS, 1);
          half* halves = cursor.array<half>("halves", HALVES / 50, 50);
          LAB_SHARED(half, fixed, [16][24]);
          __syncwarp();
          if (threadIdx.x == 0) {
            for (int i = 0; i < FLOATS; ++i) fresh_floats[blockIdx.x] += std::isnan(floats[i]);
            for (int i = 0; i < HALVES; ++i) fresh_halves[blockIdx.x] += std::isnan(__half2float(halves[i]));
            for (int i = 0; i < 16 * 24; ++i)
              fresh_static[blockIdx.x] += std::isnan(__half2float(fixed[i / 24][i % 24]));
            for (int i = 0; i < FLOATS; ++i) floats[i] = 1.0f;  // what the next block must not find
            for (int i = 0; i < HALVES; ++i) halves[i] = half(1.0f);
            for (int i = 0; i < 16 * 24; ++i) fixed[i / 24][i % 24] = half(1.0f);
          }
        },
        options, smem_bytes(FLOATS, 4) + smem_bytes(HALVES, 2));
    CHECK_MESSAGE(outcome.ok(), outcome.message());
    for (int block = 0; block < BLOCKS; ++block) {
      CHECK(fresh_floats[block] == FLOATS);
      CHECK(fresh_halves[block] == HALVES);
      CHECK(fresh_static[block] == 16 * 24);
    }
  }
}

TEST_CASE("exec: all threads carve the same arrays, one after the other, on 32-byte boundaries") {
  constexpr std::size_t A = smem_bytes(7 * 9, 2), B = smem_bytes(13, 4);
  static_assert(A == 128 && B == 64);
  for (const bool gaps : {false, true}) {
    std::set<void*> first, second;
    std::ptrdiff_t apart = 0;
    ExecOptions options = in_order(Schedule::descending);
    options.gaps = gaps;
    const Outcome outcome = run(
        1, 64,
        [&] {
          SmemCursor cursor;
          half* a = cursor.array<half>("a", 7, 9);
          float* b = cursor.array<float>("b", 13, 1);
          first.insert(a);
          second.insert(b);
          apart = reinterpret_cast<char*>(b) - reinterpret_cast<char*>(a);
        },
        options, A + B);
    REQUIRE(outcome.ok());
    CHECK(first.size() == 1);
    CHECK(second.size() == 1);
    CHECK(reinterpret_cast<std::uintptr_t>(*first.begin()) % 128 == 0);
    CHECK(reinterpret_cast<std::uintptr_t>(*second.begin()) % 32 == 0);
    if (gaps)
      CHECK(std::size_t(apart) >= A + 16 * 9 * 2);
    else
      CHECK(std::size_t(apart) == A);
  }
}

TEST_CASE("exec: gaps never push a plan out of the arena, however wide its rows") {
  ExecOptions options;
  options.gaps = true;
  int sum = 0;
  bool inside = false;
  const Outcome outcome = run(
      1, 1,
      [&] {
        SmemCursor cursor;
        float* wide = cursor.array<float>("wide", 2, 5000);
        float* wider = cursor.array<float>("wider", 1, 2000);
        float* last = cursor.array<float>("last", 32, 1);
        wide[9999] = 1, wider[1999] = 2, last[31] = 3;
        sum = int(wide[9999] + wider[1999] + last[31]);
        inside = reinterpret_cast<char*>(last + 32) <=
                 reinterpret_cast<char*>(wide) + cpu::SharedMemory::ARENA - cpu::SharedMemory::DYNAMIC;
      },
      options, 48128);
  CHECK_MESSAGE(outcome.ok(), outcome.message());
  CHECK(sum == 6);
  CHECK(inside);
}

TEST_CASE("exec: a write outside the request is reported even without the checker") {
  const auto write_at = [](std::ptrdiff_t where, int blocks = 1) {
    return run(
        blocks, 32,
        [=] {
          SmemCursor cursor;
          unsigned char* bytes = cursor.array<unsigned char>("bytes", 64, 1);
          cursor.array<float>("rows", 10, 4);
          if (threadIdx.x == 5) bytes[where] = 1;
        },
        {}, 64 + 160);
  };
  CHECK(write_at(0).ok());
  CHECK(write_at(223).ok());
  for (const std::ptrdiff_t outside : {224, 225, 1000, 40000, -1, -500}) {
    CAPTURE(outside);
    const Outcome outcome = write_at(outside, 3);
    check_failed(outcome, cudaErrorIllegalAddress, Finding::Kind::out_of_bounds);
    CHECK(int(outcome.finished) == 700);
    CHECK_CONTAINS(outcome.message(), "probe: block 0: 1 B written outside the request");
  }
  CHECK_CONTAINS(write_at(224).message(), "rows[10][0]");
}

TEST_CASE("exec: a write outside the static shared memory is reported, too") {
  for (const int outside : {-1, -20, 8 * 32, 8 * 32 + 100}) {
    CAPTURE(outside);
    const Outcome outcome = run(2, 32, [=] {
      LAB_SHARED(float, table, [8][32]);
      float* flat = &table[0][0];
      asm volatile("" : "+r"(flat));
      if (threadIdx.x == 5) flat[outside] = 1.0f;
    });
    check_failed(outcome, cudaErrorIllegalAddress, Finding::Kind::out_of_bounds);
    CHECK_CONTAINS(outcome.message(), "B written outside the request");
  }
}

// --- memory faults -------------------------------------------------------------------------------

TEST_CASE("exec: memory that is not there") {
  int* buffer = nullptr;
  REQUIRE(cudaMalloc(&buffer, 1000 * sizeof(int)) == cudaSuccess);
  CHECK(reinterpret_cast<std::uintptr_t>(buffer) % 256 == 0);
  volatile int out = 0;
  int line = 0;
  const auto go = [&](std::ptrdiff_t at, bool null, bool write) {
    return run(dim3(3, 2), 64, [&, at, null, write] {
      if (blockIdx.x != 1 || blockIdx.y != 1 || threadIdx.x != 35) return;
      volatile int* p = (null ? nullptr : buffer) + at;
      if (write) {
        HERE(line, *p = 1);
      } else {
        HERE(line, out = *p);
      }
    });
  };
  CHECK(go(999, false, true).ok());
  CHECK(go(999, false, false).ok());
  for (const bool write : {false, true}) {
    Outcome outcome = go(5000, false, write);
    check_failed(outcome, cudaErrorIllegalAddress, Finding::Kind::fault);
    CHECK(int(outcome.finished) == 700);
    CHECK_CONTAINS(outcome.message(),
                   "probe: block (1,1,0) warp 1 lane 3" + at_line(line) + "memory fault at address 0x");
    CHECK_CONTAINS(outcome.message(), "(16000 B past the end of a buffer of 4000 B)");
    CHECK(outcome.report.findings[0].second.line == line);

    outcome = go(-10, false, write);
    check_failed(outcome, cudaErrorIllegalAddress, Finding::Kind::fault);

    outcome = go(2, true, write);
    check_failed(outcome, cudaErrorIllegalAddress, Finding::Kind::fault);
    CHECK_CONTAINS(outcome.message(),
                   "probe: block (1,1,0) warp 1 lane 3" + at_line(line) + "memory fault at address 0x8 (");
  }
  CHECK(cudaFree(buffer) == cudaSuccess);
  const Outcome outcome = go(0, false, false);  // after cudaFree
  check_failed(outcome, cudaErrorIllegalAddress, Finding::Kind::fault);
}

TEST_CASE("exec: a vector access that is not aligned") {
  uint4* buffer = nullptr;
  REQUIRE(cudaMalloc(&buffer, 64) == cudaSuccess);
  uint4 out{};
  int line = 0;
  const Outcome outcome = run(1, 32, [&] {
    auto* odd = reinterpret_cast<uint4*>(reinterpret_cast<char*>(buffer) + 4 * threadIdx.x);
    asm volatile("" : "+r"(odd));
    HERE(line, out = *odd);
  });
  check_failed(outcome, cudaErrorMisalignedAddress, Finding::Kind::misaligned);
  CHECK(int(outcome.finished) == 716);
  CHECK_CONTAINS(outcome.message(), "probe: block (0,0,0) warp 0 lane 1" + at_line(line));
  CHECK_CONTAINS(outcome.message(), "misaligned");
  cudaFree(buffer);
}

namespace {
// Half a KiB of stack a level.
[[gnu::noinline]] int dig(int levels) {
  volatile char here[512];
  here[0] = char(levels);
  return levels ? dig(levels - 1) + here[0] : here[0];
}
}  // namespace

TEST_CASE("exec: a fiber's stack that overflows") {
  for (const int thread : {0, 1, 33, 63}) {
    CAPTURE(thread);
    int out = 0;
    const Outcome outcome = run(dim3(2), 64, [&] {
      __syncthreads();
      if (int(threadIdx.x) == thread && blockIdx.x == 1) out += dig(1000);
      __syncthreads();
    });
    check_failed(outcome, cudaErrorLaunchFailure, Finding::Kind::fault);
    CHECK_CONTAINS(outcome.message(), "probe: block (1,0,0) warp " + std::to_string(thread / 32) + " lane " +
                                          std::to_string(thread % 32) +
                                          at_line(0).substr(0, 4 + FILE_NAME.size()));
    CHECK_CONTAINS(outcome.message(), "stack");
    CHECK_CONTAINS(outcome.message(), "overflowed");
    CHECK(run(1, 64, [&] { __syncthreads(); }).ok());
  }
  int out = 0;
  CHECK(run(1, 1024, [&] { out += dig(40); }).ok());  // 20 KiB are there for every thread
}

TEST_CASE("exec: cudaMalloc and cudaFree") {
  void* p = &p;
  CHECK(cudaMalloc(&p, 0) == cudaSuccess);
  CHECK(p == nullptr);
  CHECK(cudaFree(nullptr) == cudaSuccess);
  CHECK(cudaMalloc(&p, std::size_t(1) << 50) == cudaErrorMemoryAllocation);
  std::vector<char*> buffers(20);
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    REQUIRE(cudaMalloc(&buffers[i], 1 + 997 * i) == cudaSuccess);
    CHECK(cudaMemset(buffers[i], int(i), 1 + 997 * i) == cudaSuccess);
  }
  for (std::size_t i = 0; i < buffers.size(); i += 2) CHECK(cudaFree(buffers[i]) == cudaSuccess);
  char* reused = nullptr;
  REQUIRE(cudaMalloc(&reused, 3000) == cudaSuccess);
  cudaMemset(reused, 99, 3000);
  for (std::size_t i = 1; i < buffers.size(); i += 2) {
    std::vector<char> host(1 + 997 * i);
    CHECK(cudaMemcpy(host.data(), buffers[i], host.size(), cudaMemcpyDeviceToHost) == cudaSuccess);
    CHECK(host == std::vector<char>(host.size(), char(i)));
    CHECK(cudaFree(buffers[i]) == cudaSuccess);
  }
  CHECK(cudaFree(reused) == cudaSuccess);
  CHECK(cudaFree(reused) == cudaErrorInvalidValue);
}

// --- cp.async ------------------------------------------------------------------------------------

namespace {
struct Global {
  unsigned char* bytes = nullptr;
  explicit Global(std::size_t n) {
    REQUIRE(cudaMalloc(&bytes, n) == cudaSuccess);
    for (std::size_t i = 0; i < n; ++i) bytes[i] = (unsigned char)(i * 7 + 1);
  }
  ~Global() { cudaFree(bytes); }
};
unsigned char byte_at(std::size_t i) { return (unsigned char)(i * 7 + 1); }

template <class Body>
void in_both_copy_modes(Body body) {
  for (const Copies copies : {Copies::at_wait, Copies::at_issue}) {
    CAPTURE(std::string(name(copies)));
    ExecOptions options = in_order(Schedule::ascending);
    options.copies = copies;
    body(options);
  }
}
}  // namespace

TEST_CASE("exec: cp.async of 4, 8 and 16 bytes, and what it fills with zeros") {
  const Global global(4096);
  in_both_copy_modes([&](const ExecOptions& options) {
    for (const std::size_t bytes : {4, 8, 16})
      for (const std::size_t zeros : {std::size_t(0), std::size_t(1), bytes / 2, bytes}) {
        std::vector<unsigned char> got(32 * 16);
        const Outcome outcome = run(
            1, 32,
            [&] {
              SmemCursor cursor;
              unsigned char* s = cursor.array<unsigned char>("s", 32, 16);
              __pipeline_memcpy_async(s + 16 * threadIdx.x, global.bytes + 64 * threadIdx.x, bytes, zeros);
              __pipeline_commit();
              __pipeline_wait_prior(0);
              std::memcpy(&got[16 * threadIdx.x], s + 16 * threadIdx.x, 16);
            },
            options, 512);
        REQUIRE_MESSAGE(outcome.ok(), outcome.message());
        for (std::size_t i = 0; i < 512; ++i) {
          const std::size_t in_copy = i % 16;
          const int expected = in_copy >= bytes           ? 0xFF
                               : in_copy >= bytes - zeros ? 0
                                                          : byte_at(i / 16 * 64 + in_copy);
          CHECK(int(got[i]) == expected);
        }
      }
  });
}

TEST_CASE("exec: groups complete in order, at the wait, or at the issue") {
  const Global global(4096);
  in_both_copy_modes([&](const ExecOptions& options) {
    int arrived[8][6] = {};  // after each step: which of the copies are there
    const Outcome outcome = run(
        1, 1,
        [&] {
          SmemCursor cursor;
          unsigned char* s = cursor.array<unsigned char>("s", 6, 16);
          const auto look = [&](int step) {
            asm volatile("" ::: "memory");
            for (int i = 0; i < 6; ++i) arrived[step][i] = s[16 * i + 3] == byte_at(std::size_t(16 * i + 3));
          };
          const auto copy = [&](int i) { __pipeline_memcpy_async(s + 16 * i, global.bytes + 16 * i, 16); };
          copy(0), copy(1);
          __pipeline_commit();  // group 0: 0, 1
          copy(2);
          __pipeline_commit();  // group 1: 2
          __pipeline_commit();  // group 2: empty, and it counts
          copy(3);
          __pipeline_commit();  // group 3: 3
          copy(4);              // in no group yet
          look(0);
          __pipeline_wait_prior(4), look(1);
          __pipeline_wait_prior(3), look(2);
          __pipeline_wait_prior(2), look(3);
          __pipeline_wait_prior(1), look(4);
          __pipeline_wait_prior(0), look(5);
          __pipeline_commit();
          copy(5);
          __pipeline_wait_prior(1), look(6);
          __pipeline_wait_prior(0), look(7);
        },
        options, 96);
    REQUIRE_MESSAGE(outcome.ok(), outcome.message());
    const int deferred[8][6] = {{0, 0, 0, 0, 0, 0}, {0, 0, 0, 0, 0, 0}, {1, 1, 0, 0, 0, 0},
                                {1, 1, 1, 0, 0, 0}, {1, 1, 1, 0, 0, 0}, {1, 1, 1, 1, 0, 0},
                                {1, 1, 1, 1, 0, 0}, {1, 1, 1, 1, 1, 0}};
    for (int step = 0; step < 8; ++step)
      for (int i = 0; i < 6; ++i) {
        CAPTURE(step);
        CAPTURE(i);
        if (options.copies == Copies::at_issue)
          CHECK(arrived[step][i] == (i < 5 || step >= 6));
        else
          CHECK(arrived[step][i] == deferred[step][i]);
      }
  });
}

TEST_CASE(
    "exec: a deferred copy takes what its source holds at the wait; an eager one what it held at the issue") {
  const Global global(64);
  in_both_copy_modes([&](const ExecOptions& options) {
    int got = -1;
    const Outcome outcome = run(
        1, 1,
        [&] {
          SmemCursor cursor;
          volatile int* s = cursor.array<int>("s", 4, 1);
          *reinterpret_cast<volatile int*>(global.bytes) = 1;
          __pipeline_memcpy_async(const_cast<int*>(s), global.bytes, 4);
          __pipeline_commit();
          *reinterpret_cast<volatile int*>(global.bytes) = 2;
          __pipeline_wait_prior(0);
          got = s[0];
        },
        options, 32);
    REQUIRE(outcome.ok());
    CHECK(got == (options.copies == Copies::at_wait ? 2 : 1));
  });
}

TEST_CASE("exec: a wait is for the thread's own copies only") {
  const Global global(4096);
  ExecOptions options = in_order(Schedule::ascending);
  int own = 0, other = 0;
  const Outcome outcome = run(
      1, 2,
      [&] {
        SmemCursor cursor;
        volatile unsigned char* s = cursor.array<unsigned char>("s", 2, 16);
        __pipeline_memcpy_async(const_cast<unsigned char*>(s) + 16 * threadIdx.x, global.bytes, 16);
        __pipeline_commit();
        __syncwarp(3);
        if (threadIdx.x == 0) {
          __pipeline_wait_prior(0);
          own = s[0], other = s[16];
        }
        __syncwarp(3);
      },
      options, 32);
  REQUIRE(outcome.ok());
  CHECK(own == byte_at(0));
  CHECK(other == 0xFF);
}

TEST_CASE("exec: cp.async that the hardware would refuse") {
  const Global global(4096);
  int line = 0;
  const auto go = [&](std::size_t to, std::size_t from, std::size_t bytes, std::size_t zeros,
                      bool to_shared = true) {
    return run(
        1, 64,
        [&, to, from, bytes, zeros, to_shared] {
          SmemCursor cursor;
          unsigned char* s = cursor.array<unsigned char>("s", 16, 16);
          void* target = to_shared ? s + to : global.bytes + 2048;
          if (threadIdx.x == 50)
            HERE(line, __pipeline_memcpy_async(target, global.bytes + from, bytes, zeros));
        },
        {}, 256);
  };
  CHECK(go(16, 32, 16, 0).ok());
  const std::string who = "probe: block (0,0,0) warp 1 lane 18";
  Outcome outcome = go(24, 0, 16, 0);
  check_failed(outcome, cudaErrorMisalignedAddress, Finding::Kind::misaligned);
  CHECK(outcome.message() ==
        who + at_line(line) + "misaligned address: cp.async of 16 bytes to s[1][8], 8 past a multiple of 16");
  outcome = go(0, 4, 8, 0);
  check_failed(outcome, cudaErrorMisalignedAddress, Finding::Kind::misaligned);
  CHECK(outcome.message() ==
        who + at_line(line) +
            "misaligned address: cp.async of 8 bytes from global memory, 4 past a multiple of 8");
  CHECK(int(outcome.finished) == 716);
  check_failed(go(2, 0, 4, 0), cudaErrorMisalignedAddress, Finding::Kind::misaligned);
  for (const std::size_t bytes : {0, 1, 2, 12, 32}) {
    CAPTURE(bytes);
    outcome = go(0, 0, bytes, 0);
    check_failed(outcome, cudaErrorInvalidValue, Finding::Kind::misaligned);
    CHECK_CONTAINS(outcome.message(),
                   who + at_line(line) + "cp.async of " + std::to_string(bytes) + " bytes");
  }
  outcome = go(0, 0, 8, 9);
  check_failed(outcome, cudaErrorInvalidValue, Finding::Kind::misaligned);
  outcome = go(0, 0, 16, 0, false);
  check_failed(outcome, cudaErrorIllegalAddress, Finding::Kind::out_of_bounds);
  CHECK_CONTAINS(outcome.message(), who + at_line(line) + "cp.async to an address outside shared memory");
}

TEST_CASE("exec: a cp.async from an address that is not there") {
  const Global global(64);
  in_both_copy_modes([&](const ExecOptions& options) {
    const Outcome outcome = run(
        1, 64,
        [&] {
          SmemCursor cursor;
          unsigned char* s = cursor.array<unsigned char>("s", 16, 1);
          if (threadIdx.x != 63) return;
          __pipeline_memcpy_async(s, global.bytes + 8192, 16);
          __pipeline_commit();
          __pipeline_wait_prior(0);
        },
        options, 32);
    check_failed(outcome, cudaErrorIllegalAddress, Finding::Kind::fault);
    CHECK_CONTAINS(outcome.message(), "probe: block (0,0,0) warp 1 lane 31");
    CHECK_CONTAINS(outcome.message(), "8128 B past the end of a buffer of 64 B");
  });
}

// --- schedules -----------------------------------------------------------------------------------

namespace {
struct Walk {
  std::vector<int> starts, after_barrier, after_syncwarp;
  std::uint64_t switches = 0;
  bool operator==(const Walk&) const = default;
};

Walk walk(Schedule schedule, std::uint64_t seed, unsigned threads, std::uint32_t block = 0) {
  Walk walk;
  ExecOptions options = in_order(schedule, seed);
  options.blocks = {block};
  const Outcome outcome = run(
      8, threads,
      [&] {
        walk.starts.push_back(int(threadIdx.x));
        __syncthreads();
        walk.after_barrier.push_back(int(threadIdx.x));
        __syncwarp();
        walk.after_syncwarp.push_back(int(threadIdx.x));
      },
      options);
  REQUIRE(outcome.ok());
  walk.switches = outcome.report.switches;
  return walk;
}
}  // namespace

TEST_CASE("exec: ascending, descending and round robin are what they say") {
  std::vector<int> up(96), down(96), round;
  std::iota(up.begin(), up.end(), 0);
  std::iota(down.rbegin(), down.rend(), 0);
  for (int lane = 0; lane < 32; ++lane)
    for (int warp = 0; warp < 3; ++warp) round.push_back(32 * warp + lane);

  const Walk ascending = walk(Schedule::ascending, 1, 96);
  CHECK(ascending.starts == up);
  CHECK(ascending.after_barrier == up);
  CHECK(ascending.after_syncwarp == up);  // warp 0 is through before warp 1 has left the barrier

  const Walk descending = walk(Schedule::descending, 1, 96);
  CHECK(descending.starts == down);
  CHECK(descending.after_barrier == down);
  CHECK(descending.after_syncwarp == down);

  const Walk robin = walk(Schedule::round_robin, 1, 96);
  CHECK(robin.starts == round);
  // The barrier's last thread is warp 2's: its turn is over, warp 0 is next.
  CHECK(robin.after_barrier == round);
}

TEST_CASE("exec: random is every thread once, another order a seed and a block, the same for the same seed") {
  const Walk one = walk(Schedule::random, 1, 96);
  CHECK(std::set<int>(one.starts.begin(), one.starts.end()).size() == 96);
  CHECK(std::set<int>(one.after_syncwarp.begin(), one.after_syncwarp.end()).size() == 96);
  CHECK(one == walk(Schedule::random, 1, 96));
  std::set<std::vector<int>> orders;
  for (std::uint64_t seed = 0; seed < 20; ++seed) orders.insert(walk(Schedule::random, seed, 96).starts);
  CHECK(orders.size() == 20);
  for (std::uint32_t block = 1; block < 8; ++block)
    orders.insert(walk(Schedule::random, 1, 96, block).starts);
  CHECK(orders.size() == 27);
}

TEST_CASE("exec: the same schedule and seed make the same switches and output, with any number of workers") {
  under_all_schedules([](ExecOptions options) {
    constexpr int BLOCKS = 13, THREADS = 80;
    const auto go = [&](int workers) {
      std::vector<int> racy(BLOCKS * THREADS);  // depends on the order of threads
      int last[BLOCKS] = {};
      options.workers = workers;
      const Outcome outcome = run(
          BLOCKS, THREADS,
          [&] {
            for (int i = 0; i < 3; ++i) {
              racy[blockIdx.x * THREADS + threadIdx.x] += last[blockIdx.x];
              last[blockIdx.x] = int(threadIdx.x);
              __syncwarp(threadIdx.x < 64 ? FULL : 0xFFFFu);
              if (i == 1) __syncthreads();
            }
          },
          options);
      REQUIRE(outcome.ok());
      CHECK(outcome.report.lane_collectives == 3u * BLOCKS * THREADS);
      return std::pair(racy, outcome.report.switches);
    };
    const auto once = go(1);
    CHECK(once == go(1));
    CHECK(once == go(2));
    CHECK(once == go(7));
    CHECK(once.second > 0);
  });
}

TEST_CASE("exec: schedules differ where a kernel depends on the order") {
  const auto last_writer = [](Schedule schedule) {
    int last = -1;
    run(
        1, 64, [&] { last = int(threadIdx.x); }, in_order(schedule));
    return last;
  };
  CHECK(last_writer(Schedule::ascending) == 63);
  CHECK(last_writer(Schedule::descending) == 0);
}

// --- blocks and workers --------------------------------------------------------------------------

TEST_CASE("exec: a sample of blocks runs those and no others") {
  ExecOptions options;
  options.blocks = {1, 4, 11, 99};  // the last one is not in the grid
  int runs[12] = {};
  const Outcome outcome = run(
      dim3(3, 2, 2), 32,
      [&] {
        if (threadIdx.x == 0) ++runs[blockIdx.x + 3 * blockIdx.y + 6 * blockIdx.z];
      },
      options);
  CHECK(outcome.ok());
  for (int block = 0; block < 12; ++block) CHECK(runs[block] == (block == 1 || block == 4 || block == 11));
  CHECK(outcome.report.blocks_run == 3u);
  CHECK(outcome.report.blocks_total == 12u);
}

TEST_CASE("exec: the lowest failing block is reported, with the same counts, for any number of workers") {
  for (const int workers : {1, 2, 3, 8}) {
    CAPTURE(workers);
    const auto pause = [](int milliseconds) {
      std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    };
    const Outcome outcome = run(
        40, 64,
        [&] {
          if (threadIdx.x == 0) pause(blockIdx.x == 17 ? 30 : 3);  // 17 ends after later blocks that fail too
          if (threadIdx.x < 40) __syncwarp(1u << threadIdx.x % 32);
          if (blockIdx.x >= 17 && threadIdx.x == 40 + (blockIdx.x - 17) % 8) __trap();
        },
        in_order(Schedule::ascending, 1, workers));
    check_failed(outcome, cudaErrorLaunchFailure, Finding::Kind::fault);
    CHECK_CONTAINS(outcome.message(), "probe: block (17,0,0) warp 1 lane 8 at ");
    CHECK(outcome.report.findings[0].block == 17u);
    CHECK(outcome.report.findings[0].count == 1u);
    CHECK(outcome.report.blocks_run == 18u);
    CHECK(outcome.report.lane_collectives == 18u * 40);
  }
}

TEST_CASE("exec: after a failed block its worker starts afresh") {
  // The failing block leaves fibers at a barrier, an open rendezvous and copies in flight.
  const Global global(64);
  run(
      4, 64,
      [&] {
        SmemCursor cursor;
        unsigned char* s = cursor.array<unsigned char>("s", 16, 1);
        __pipeline_memcpy_async(s, global.bytes, 16);
        if (threadIdx.x == 40) __trap();
        if (threadIdx.x > 40) __syncwarp(0xFFFFFE00u);
        __syncthreads();
      },
      {}, 32);
  int sum = 0;
  const Outcome outcome = run(4, 64, [&] {
    const int s = int(warp_sum(1));
    __syncthreads();
    if (blockIdx.x == 3) sum += s;
  });
  CHECK(outcome.ok());
  CHECK(sum == 64 * 32);
}

TEST_CASE("exec: reports add up over launches until they are taken") {
  take_exec_report();
  for (int i = 0; i < 3; ++i) CHECK(launch("empty_kernel", other_kernel, 5, 32, 0, nullptr) == cudaSuccess);
  ExecReport report = take_exec_report();
  CHECK(report.blocks_run == 15u);
  CHECK(report.blocks_total == 15u);
  report = take_exec_report();
  CHECK(report.blocks_run == 0u);
  CHECK(report.findings.empty());
}
