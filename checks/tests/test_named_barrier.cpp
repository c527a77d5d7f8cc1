// bar.sync and bar.arrive on the CPU: which warps wait for which, and the reports of misuse.
#include "checks/tests/test_exec.hpp"
#include "common/ptx/barrier.cuh"

using namespace lab;
using lab::ptx::barrier_arrive;
using lab::ptx::barrier_sync;
using Kind = Finding::Kind;

TEST_CASE("bar: arrive does not wait, and a barrier is fresh after each use") {
  under_all_schedules([](const ExecOptions& options) {
    constexpr int ROUNDS = 7;
    int box[32] = {}, got[ROUNDS][32] = {};
    runs({1, 64, 0, options}, [&] {
      for (int round = 0; round < ROUNDS; ++round) {
        if (warp_id() == 0) {
          if (round > 0) barrier_sync(15, 64);
          box[threadIdx.x] = 100 * round + int(threadIdx.x);
          barrier_arrive(1, 64);
        } else {
          barrier_sync(1, 64);
          got[round][lane_id()] = box[lane_id() ^ 5];
          if (round + 1 < ROUNDS) barrier_arrive(15, 64);
        }
      }
    });
    for (int round = 0; round < ROUNDS; ++round)
      for (int lane = 0; lane < 32; ++lane) CHECK(got[round][lane] == 100 * round + (lane ^ 5));
  });
}

TEST_CASE("bar: all 15 barriers at once, one use after the other by different warps") {
  under_all_schedules([](const ExecOptions& options) {
    int order[16] = {}, next = 0;
    runs({1, 512, 0, options}, [&] {
      // Warp w starts when warp w - 1 is done: barrier w is between them.
      const int w = warp_id();
      if (w > 0) barrier_sync(w, 64);
      if (lane_id() == 0) order[next++] = w;
      __syncwarp();
      if (w < 15) barrier_arrive(w + 1, 64);
    });
    for (int w = 0; w < 16; ++w) CHECK(order[w] == w);
  });
}

// --- misuse --------------------------------------------------------------------------------------------------

TEST_CASE("bar: a deadlock says who waits where, and how many have come") {
  int line = 0, block = 0;
  Outcome outcome = run({1, 128}, [&] {
    if (warp_id() == 3) return;
    if (warp_id() == 2)
      HERE(block, __syncthreads());
    else
      HERE(line, barrier_sync(5, 96));
  });
  check_failed(outcome, cudaErrorLaunchTimeout, Kind::deadlock);
  const std::string at = std::string(__FILE__) + ":";
  CHECK_CONTAINS(outcome.message(),
                 "Warps 0..1 lanes 0..31 wait at barrier 5, at which 64 of 96 threads have arrived (" + at +
                     std::to_string(line) + ").");
  CHECK_CONTAINS(outcome.message(), "Warp 2 lanes 0..31 wait at a block barrier (" + at + std::to_string(block) + ").");
  CHECK_CONTAINS(outcome.message(), "All lanes of these warps have returned: 3.");

  // Each waits for the other at a different barrier.
  outcome = run({1, 64}, [&] { HERE(line, barrier_sync(warp_id() + 1, 64)); });
  check_failed(outcome, cudaErrorLaunchTimeout, Kind::deadlock,
               "Warp 0 lanes 0..31 wait at barrier 1, at which 32 of 64 threads have arrived",
               "Warp 1 lanes 0..31 wait at barrier 2, at which 32 of 64 threads have arrived");
}

TEST_CASE("bar: arrivals that no thread waited for are told when the block ends") {
  under_all_schedules([](ExecOptions options) {
    options.check = true;
    int line = 0;
    const auto body = [&](bool taken) {
      return [&line, taken] {
        if (warp_id() < 2) HERE(line, barrier_arrive(7, 96));
        if (warp_id() == 2 && taken) barrier_sync(7, 96);
      };
    };
    CHECK(run({1, 96, 0, options}, body(true)).report.findings.empty());
    const auto found = run({1, 96, 0, options}, body(false)).report.findings;
    REQUIRE(found.size() == 1);
    CHECK(found[0].kind == Kind::barrier);
    CHECK(found[0].second.line == line);
    CHECK_CONTAINS(found[0].text, "the block ends with 64 of 96 threads at barrier 7");
  });
}

TEST_CASE("bar: a block after one that was stopped starts with fresh barriers") {
  run({1, 64}, [&] {
    if (warp_id() == 0) barrier_sync(1, 64);
  });
  runs({2, 96}, [&] { barrier_sync(1, 96); });
}
