// bar.sync and bar.arrive on the CPU: which warps wait for which, and the reports of misuse.
#include "checks/tests/test_exec.hpp"
#include "common/ptx/barrier.cuh"

using namespace lab;
using lab::ptx::barrier_arrive;
using lab::ptx::barrier_sync;
using Kind = Finding::Kind;

// --- execution ---------------------------------------------------------------------------------------------

TEST_CASE("bar: sync waits for everybody who is counted, and for nobody else") {
  under_all_schedules([](const ExecOptions& options) {
    int came = 0, seen_by_pair[64] = {};
    runs({1, 128, 0, options}, [&] {
      if (warp_id() < 2) {
        ++came;
        barrier_sync(3, 64);
        seen_by_pair[threadIdx.x] = came;
      }
    });
    CHECK(came == 64);
    for (const int seen : seen_by_pair) CHECK(seen == 64);
  });
}

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

TEST_CASE("bar: numbers and counts out of range are named") {
  const struct {
    int id, threads;
    const char* text;
  } cases[] = {
      {0, 64, "bar.arrive 0, 64: barrier 0 is that of __syncthreads; take one of 1 to 15"},
      {16, 64, "bar.arrive 16, 64: a block has the barriers 1 to 15"},
      {-1, 64, "bar.arrive -1, 64: a block has the barriers 1 to 15"},
      {1, 48, "bar.arrive 1, 48: a barrier counts whole warps; the threads must be a multiple of 32, at least 32"},
      {1, 0, "bar.arrive 1, 0: a barrier counts whole warps"},
      {1, 96, "bar.arrive 1, 96: the block has 64 threads"},
  };
  for (const auto& c : cases) {
    int line = 0;
    const Outcome outcome = run({1, 64}, [&] { HERE(line, barrier_arrive(c.id, c.threads)); });
    check_failed(outcome, cudaErrorLaunchFailure, Kind::barrier, "warp 0 lane 0" + at_line(line), c.text);
  }
}

TEST_CASE("bar: two warps with different counts") {
  int first = 0, second = 0;
  const Outcome outcome = run({1, 96}, [&] {
    if (warp_id() == 0)
      HERE(first, barrier_sync(2, 64));
    else
      HERE(second, barrier_sync(2, 96));
  });
  check_failed(outcome, cudaErrorLaunchFailure, Kind::barrier, "warp 1 lane 31" + at_line(second),
               "bar.sync 2, 96: warp 0 came to this barrier for 64 threads " + spot(first));
}

TEST_CASE("bar: a warp that comes twice to one use") {
  int line = 0, first = 0;
  const Outcome outcome = run({1, 96}, [&] {
    if (warp_id() != 0) return;
    HERE(first, barrier_arrive(2, 96));
    HERE(line, barrier_arrive(2, 96));
  });
  check_failed(
      outcome, cudaErrorLaunchFailure, Kind::barrier, at_line(line),
      "bar.arrive 2, 96: the warp comes to this barrier twice; 32 of 96 threads have arrived so far, the first at " +
          std::string(__FILE__) + ":" + std::to_string(first));
}

TEST_CASE("bar: lanes of a warp that part ways") {
  int one = 0, other = 0;
  Outcome outcome = run({1, 64}, [&] {
    if (lane_id() < 16)
      HERE(one, barrier_sync(1, 64));
    else
      HERE(other, barrier_arrive(1, 64));
  });
  check_failed(outcome, cudaErrorLaunchFailure, Kind::collective,
               "lane 16" + at_line(other) + "bar.arrive with mask 0xffffffff meets lanes 0..15 in bar.sync");

  outcome = run({1, 64}, [&] { HERE(one, barrier_sync(lane_id() < 16 ? 1 : 2, 64)); });
  check_failed(outcome, cudaErrorLaunchFailure, Kind::barrier,
               "lane 31" + at_line(one) + "bar.sync 2, 64 meets lane 0 of its warp in bar.sync 1, 64");
}

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
