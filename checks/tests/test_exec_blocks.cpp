// A caller's choices (ExecOptions): schedules, orders of blocks, workers. Values that kernels compute are tested in checks/tests/plain,
// which also launches after failures; samples of blocks are held by each acceptance.
#include <chrono>
#include <cstdint>
#include <numeric>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "checks/tests/test_exec.hpp"

using namespace lab;

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
  }
}

TEST_CASE("exec: blocks start in the order that is asked for, of a sample too") {
  const auto last = [](std::uint64_t order, std::vector<std::uint32_t> blocks = {}) {
    ExecOptions options = in_order(Schedule::ascending);
    options.block_order = order, options.blocks = std::move(blocks);
    unsigned written = 9;
    runs({3, 1, 0, options}, [&] { written = blockIdx.x; });
    return written;
  };
  CHECK(last(0) == 2);
  CHECK(last(1) == 0);
  CHECK(last(1, {1, 2}) == 1);
  std::set<unsigned> lasts;
  for (std::uint64_t order = 2; order < 12; ++order) {
    CHECK(last(order) == last(order));
    lasts.insert(last(order));
  }
  CHECK(lasts == std::set{0u, 1u, 2u});
}

TEST_CASE(
    "exec: blocks that wait for each other end in any order, with any number of workers, if there is room for all") {
  const auto turns = [](const ExecOptions& options) {
    int turn = 0;
    std::vector<unsigned> order;
    const Outcome outcome = run({3, 32, 0, options}, [&] {
      if (threadIdx.x) return;
      while (atomicAdd(&turn, 0) != int(blockIdx.x)) {
      }
      order.push_back(blockIdx.x);
      atomicAdd(&turn, 1);
    });
    return outcome.ok() && order == std::vector<unsigned>{0, 1, 2};
  };
  for (const Schedule schedule : {Schedule::ascending, Schedule::round_robin, Schedule::random})
    for (std::uint64_t order = 0; order < 8; ++order)
      for (int workers = 1; workers <= 3; ++workers) {
        ExecOptions options = in_order(schedule, 1, workers);
        options.block_order = order;
        CHECK_MESSAGE(turns(options), int(schedule) << " " << order << " " << workers);
      }
  ExecOptions crowded = in_order(Schedule::ascending);
  crowded.room = 1;
  CHECK(turns(crowded));
  crowded.block_order = 1;  // the first waits for the last, which finds no room
  CHECK_FALSE(turns(crowded));
}

TEST_CASE("exec: a write outside the request is reported even without the checker") {
  const auto write_at = [](std::ptrdiff_t where) {
    return run({3, 32, 224}, [=] {
      auto* bytes = plain::dynamic_shared<unsigned char>("bytes");
      if (threadIdx.x == 5) bytes[where] = 1;
    });
  };
  CHECK(write_at(0).ok());
  CHECK(write_at(223).ok());
  for (const std::ptrdiff_t outside : {224, 225, 1000, 40000, -1, -500}) {
    CAPTURE(outside);
    check_failed(write_at(outside), cudaErrorIllegalAddress, Finding::Kind::out_of_bounds,
                 "probe: block 0: 1 B written outside the request");
  }
}
