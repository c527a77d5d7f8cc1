// CUDA on the CPU: early exit, block barriers, deadlocks, indices, schedules, workers.
#include <cuda_fp16.h>
#include <cuda_pipeline.h>

#include <chrono>
#include <cstdint>
#include <numeric>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "checks/tests/test_exec.hpp"
#include "common/launch.cuh"
#include "common/smem_plan.cuh"
#include "common/warp.cuh"

using namespace lab;

// --- early exit and block barriers ---------------------------------------------------------------

TEST_CASE("exec: lanes that return early, and the rest go on with a mask of their own") {
  under_all_schedules([](const ExecOptions& options) {
    int sum[32] = {};
    const Outcome outcome = runs({1, 32, 0, options}, [&] {
      const int lane = lane_id();
      if (lane >= 20) return;
      int s = lane;
      for (int distance = 1; distance < 4; distance *= 2) s += __shfl_xor_sync(0x000FFFFFu, s, distance);
      sum[lane] = s;
    });
    CHECK(outcome.report.findings.empty());
    for (int lane = 0; lane < 20; ++lane) CHECK(sum[lane] == lane / 4 * 16 + 6);
  });
}

TEST_CASE("exec: a block barrier waits for the threads that have not returned") {
  under_all_schedules([](const ExecOptions& options) {
    int before = 0, seen[96] = {};
    const Outcome outcome = runs({dim3(2), 96, 0, options}, [&] {
      const int thread = int(threadIdx.x);
      if (thread == 0) before = 0;
      if (thread / 32 == 1) return;
      ++before;
      __syncthreads();
      seen[thread] = before;
    });
    CHECK(outcome.report.findings.empty());
    if (options.schedule == Schedule::ascending)
      for (int thread = 0; thread < 96; ++thread) CHECK(seen[thread] == (thread / 32 == 1 ? 0 : 64));
  });
}

TEST_CASE("exec: __syncthreads holds all warps, whatever the block size") {
  for (const unsigned threads : {1u, 31u, 33u, 48u, 96u, 256u, 500u, 1024u})
    under_all_schedules([&](const ExecOptions& options) {
      CAPTURE(threads);
      unsigned arrived = 0;
      std::vector<unsigned> first(threads), second(threads);
      const Outcome outcome = runs({1, threads, 0, options}, [&] {
        ++arrived;
        __syncthreads();
        first[threadIdx.x] = arrived;
        __syncthreads();
        ++arrived;
        __syncthreads();
        second[threadIdx.x] = arrived;
      });
      CHECK(outcome.report.findings.empty());
      CHECK(first == std::vector<unsigned>(threads, threads));
      CHECK(second == std::vector<unsigned>(threads, 2 * threads));
    });
}

// --- deadlock ------------------------------------------------------------------------------------

TEST_CASE("exec: a deadlock is a report that names who waits where") {
  int barrier_line = 0, sync_line = 0;
  const Outcome outcome = run({dim3(3), 64}, [&] {
    if (blockIdx.x == 1 && threadIdx.x >= 34 && threadIdx.x < 40) {
      HERE(sync_line, __syncwarp(0x00000FFCu));  // lanes 8..11 are at the barrier
    }
    HERE(barrier_line, __syncthreads());
  });
  check_failed(outcome, cudaErrorLaunchTimeout, Finding::Kind::deadlock);
  CHECK(contains(outcome.message(), "probe: block (1,0,0) warp "));
  CHECK_CONTAINS(outcome.message(), "deadlock: no thread can go on.");
  CHECK_CONTAINS(outcome.message(), " Warp 0 lanes 0..31 wait at a block barrier " + spot(barrier_line) + ".");
  CHECK_CONTAINS(outcome.message(), " Warp 1 lanes 2..7 wait in __syncwarp for lanes 8..11 " + spot(sync_line) + ".");
  CHECK_CONTAINS(outcome.message(), " Warp 1 lanes 0..1,8..31 wait at a block barrier " + spot(barrier_line) + ".");
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
      std::vector<int> right(threads * blocks);
      const dim3 g = grid, b = block;
      const Outcome outcome = runs({g, b, 0, in_order(Schedule::round_robin, 1, workers)}, [&, g, b] {
        const std::size_t thread = threadIdx.x + b.x * (threadIdx.y + std::size_t(b.y) * threadIdx.z);
        const std::size_t block_number = blockIdx.x + g.x * (blockIdx.y + std::size_t(g.y) * blockIdx.z);
        const std::size_t at = block_number * threads + thread;
        const bool dims = blockDim.x == b.x && blockDim.y == b.y && blockDim.z == b.z && gridDim.x == g.x &&
                          gridDim.y == g.y && gridDim.z == g.z;
        __syncthreads();  // and they are still this thread's after others have run
        const std::size_t again = threadIdx.x + b.x * (threadIdx.y + std::size_t(b.y) * threadIdx.z);
        right[at] += dims && again == thread && threadIdx.x < b.x && threadIdx.y < b.y && threadIdx.z < b.z;
      });
      CHECK(right == std::vector<int>(threads * blocks, 1));  // and each thread ran once
      CHECK(outcome.report.blocks_run == blocks);
      CHECK(outcome.report.blocks_total == blocks);
    }
}

TEST_CASE("exec: warps are made of threads in x, then y, then z") {
  runs({1, dim3(4, 4, 4)}, [] {
    const int linear = int(threadIdx.x + 4 * threadIdx.y + 16 * threadIdx.z);
    CHECK(__shfl_sync(FULL, linear, 31) == (threadIdx.z < 2 ? 31 : 63));
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
  const Outcome outcome = runs({8, threads, 0, options}, [&] {
    walk.starts.push_back(int(threadIdx.x));
    __syncthreads();
    walk.after_barrier.push_back(int(threadIdx.x));
    __syncwarp();
    walk.after_syncwarp.push_back(int(threadIdx.x));
  });
  walk.switches = outcome.report.switches;
  return walk;
}
}  // namespace

TEST_CASE("exec: ascending, descending, round robin and leaders are what they say") {
  std::vector<int> up(96), down(96), round;
  std::iota(up.begin(), up.end(), 0);
  std::iota(down.rbegin(), down.rend(), 0);
  for (int lane = 0; lane < 32; ++lane)
    for (int warp = 0; warp < 3; ++warp) round.push_back(32 * warp + lane);

  const auto goes = [](Schedule schedule, const auto& starts, const auto& after_barrier, const auto& after_syncwarp) {
    const Walk w = walk(schedule, 1, 96);
    CHECK((w.starts == starts && w.after_barrier == after_barrier));
    if (schedule != Schedule::round_robin) CHECK(w.after_syncwarp == after_syncwarp);
  };
  goes(Schedule::ascending, up, up, up);  // warp 0 is through before warp 1 has left the barrier
  goes(Schedule::descending, down, down, down);
  goes(Schedule::leaders, round, round,
       up);  // lane by lane, too, but no warp waits for its turn; its last lane comes first
  goes(Schedule::round_robin, round, round, up);  // the barrier's last thread is warp 2's: its turn is over
}

TEST_CASE("exec: random is every thread once, another order a seed and a block, the same for the same seed") {
  const Walk one = walk(Schedule::random, 1, 96);
  CHECK(std::set<int>(one.starts.begin(), one.starts.end()).size() == 96);
  CHECK(std::set<int>(one.after_syncwarp.begin(), one.after_syncwarp.end()).size() == 96);
  CHECK(one == walk(Schedule::random, 1, 96));
  std::set<std::vector<int>> orders;
  for (std::uint64_t seed = 0; seed < 20; ++seed) orders.insert(walk(Schedule::random, seed, 96).starts);
  CHECK(orders.size() == 20);
  for (std::uint32_t block = 1; block < 8; ++block) orders.insert(walk(Schedule::random, 1, 96, block).starts);
  CHECK(orders.size() == 27);
}

TEST_CASE("exec: the same schedule and seed make the same switches and output, with any number of workers") {
  under_all_schedules([](ExecOptions options) {
    constexpr int BLOCKS = 13, THREADS = 80;
    const auto go = [&](int workers) {
      std::vector<int> racy(BLOCKS * THREADS);  // depends on the order of threads
      int last[BLOCKS] = {};
      options.workers = workers;
      const Outcome outcome = runs({BLOCKS, THREADS, 0, options}, [&] {
        for (int i = 0; i < 3; ++i) {
          racy[blockIdx.x * THREADS + threadIdx.x] += last[blockIdx.x];
          last[blockIdx.x] = int(threadIdx.x);
          __syncwarp(threadIdx.x < 64 ? FULL : 0xFFFFu);
          if (i == 1) __syncthreads();
        }
      });
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

// --- blocks and workers --------------------------------------------------------------------------

TEST_CASE("exec: a sample of blocks runs those and no others") {
  ExecOptions options;
  options.blocks = {1, 4, 11, 99};  // the last one is not in the grid
  int times[12] = {};
  const Outcome outcome = runs({dim3(3, 2, 2), 32, 0, options}, [&] {
    if (threadIdx.x == 0) ++times[blockIdx.x + 3 * blockIdx.y + 6 * blockIdx.z];
  });
  for (int block = 0; block < 12; ++block) CHECK(times[block] == (block == 1 || block == 4 || block == 11));
  CHECK(outcome.report.blocks_run == 3u);
  CHECK(outcome.report.blocks_total == 12u);
}

TEST_CASE("exec: the lowest failing block is reported, with the same counts, for any number of workers") {
  for (const int workers : {1, 2, 3, 8}) {
    CAPTURE(workers);
    const auto pause = [](int milliseconds) { std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds)); };
    const Outcome outcome = run({40, 64, 0, in_order(Schedule::ascending, 1, workers)}, [&] {
      if (threadIdx.x == 0) pause(blockIdx.x == 17 ? 30 : 3);  // 17 ends after later blocks that fail too
      if (threadIdx.x < 40) __syncwarp(1u << threadIdx.x % 32);
      if (blockIdx.x >= 17 && threadIdx.x == 40 + (blockIdx.x - 17) % 8) __trap();
    });
    check_failed(outcome, cudaErrorLaunchFailure, Finding::Kind::fault, "probe: block (17,0,0) warp 1 lane 8 at ");
    CHECK(outcome.report.findings[0].block == 17u);
    CHECK(outcome.report.findings[0].count == 1u);
    CHECK(outcome.report.blocks_run == 18u);
    CHECK(outcome.report.lane_collectives == 18u * 40);
  }
}

TEST_CASE("exec: after a failed block its worker starts afresh") {
  // The failing block leaves fibers at a barrier, an open rendezvous and copies in flight.
  const Global global(64);
  run({4, 64, 32}, [&] {
    SmemCursor cursor;
    unsigned char* s = cursor.array<unsigned char>("s", 16, 1);
    __pipeline_memcpy_async(s, global.bytes, 16);
    if (threadIdx.x == 40) __trap();
    if (threadIdx.x > 40) __syncwarp(0xFFFFFE00u);
    __syncthreads();
  });
  int sum = 0;
  runs({4, 64}, [&] {
    const int s = int(warp_sum(1));
    __syncthreads();
    if (blockIdx.x == 3) sum += s;
  });
  CHECK(sum == 64 * 32);
}
