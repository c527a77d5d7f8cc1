// bar.sync and bar.arrive on the CPU: who waits for whom, what the checker takes them to order, and what misuse is
// told.
#include "checks/tests/instrumented.hpp"
#include "checks/tests/test_exec.hpp"
#include "checks/tests/test_sm80.hpp"
#include "common/ptx/barrier.cuh"

using namespace lab;
using namespace lab::sm80_tests;
using lab::ptx::barrier_arrive;
using lab::ptx::barrier_sync;
using Kind = Finding::Kind;

namespace {
int warp_id() { return int(threadIdx.x) / 32; }
}  // namespace

// --- execution ---------------------------------------------------------------------------------------------

TEST_CASE("bar: sync waits for everybody who is counted, and for nobody else") {
  under_all_schedules([](const ExecOptions& options) {
    int came = 0, seen_by_pair[64] = {};
    const Outcome outcome = run(
        1, 128,
        [&] {
          if (warp_id() < 2) {
            ++came;
            barrier_sync(3, 64);
            seen_by_pair[threadIdx.x] = came;
          }
        },
        options);
    CHECK_MESSAGE(outcome.ok(), outcome.message());
    CHECK(came == 64);
    for (const int seen : seen_by_pair) CHECK(seen == 64);
  });
}

TEST_CASE("bar: arrive does not wait, and a barrier is fresh after each use") {
  under_all_schedules([](const ExecOptions& options) {
    constexpr int ROUNDS = 7;
    int box[32] = {}, got[ROUNDS][32] = {};
    const Outcome outcome = run(
        1, 64,
        [&] {
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
        },
        options);
    CHECK_MESSAGE(outcome.ok(), outcome.message());
    for (int round = 0; round < ROUNDS; ++round)
      for (int lane = 0; lane < 32; ++lane) CHECK(got[round][lane] == 100 * round + (lane ^ 5));
  });
}

TEST_CASE("bar: all 15 barriers at once, one use after the other by different warps") {
  under_all_schedules([](const ExecOptions& options) {
    int order[16] = {}, next = 0;
    const Outcome outcome = run(
        1, 512,
        [&] {
          // Warp w starts when warp w - 1 is done: barrier w is between them.
          const int w = warp_id();
          if (w > 0) barrier_sync(w, 64);
          if (lane_id() == 0) order[next++] = w;
          __syncwarp();
          if (w < 15) barrier_arrive(w + 1, 64);
        },
        options);
    CHECK_MESSAGE(outcome.ok(), outcome.message());
    for (int w = 0; w < 16; ++w) CHECK(order[w] == w);
  });
}

TEST_CASE("bar: a block barrier and named barriers do not meet") {
  under_all_schedules([](const ExecOptions& options) {
    const Outcome outcome = run(
        1, 96,
        [&] {
          if (warp_id() < 2) barrier_sync(1, 64);
          __syncthreads();
          barrier_sync(1, 96);
          __syncthreads();
        },
        options);
    CHECK_MESSAGE(outcome.ok(), outcome.message());
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
    const Outcome outcome = run(1, 64, [&] { HERE(line, barrier_arrive(c.id, c.threads)); });
    check_failed(outcome, cudaErrorLaunchFailure, Kind::barrier);
    CHECK_CONTAINS(outcome.message(), "warp 0 lane 0" + at_line(line));
    CHECK_CONTAINS(outcome.message(), c.text);
  }
}

TEST_CASE("bar: two warps with different counts") {
  int first = 0, second = 0;
  const Outcome outcome = run(1, 96, [&] {
    if (warp_id() == 0)
      HERE(first, barrier_sync(2, 64));
    else
      HERE(second, barrier_sync(2, 96));
  });
  check_failed(outcome, cudaErrorLaunchFailure, Kind::barrier);
  CHECK_CONTAINS(outcome.message(), "warp 1 lane 31" + at_line(second));
  CHECK_CONTAINS(outcome.message(), "bar.sync 2, 96: warp 0 came to this barrier for 64 threads (" +
                                        std::string(__FILE__) + ":" + std::to_string(first) + ")");
}

TEST_CASE("bar: a warp that comes twice to one use") {
  int line = 0, first = 0;
  const Outcome outcome = run(1, 96, [&] {
    if (warp_id() != 0) return;
    HERE(first, barrier_arrive(2, 96));
    HERE(line, barrier_arrive(2, 96));
  });
  check_failed(outcome, cudaErrorLaunchFailure, Kind::barrier);
  CHECK_CONTAINS(outcome.message(), at_line(line));
  CHECK_CONTAINS(
      outcome.message(),
      "bar.arrive 2, 96: the warp comes to this barrier twice; 32 of 96 threads have arrived so far, the first at " +
          std::string(__FILE__) + ":" + std::to_string(first));
}

TEST_CASE("bar: lanes of a warp that part ways") {
  int one = 0, other = 0;
  Outcome outcome = run(1, 64, [&] {
    if (lane_id() < 16)
      HERE(one, barrier_sync(1, 64));
    else
      HERE(other, barrier_arrive(1, 64));
  });
  check_failed(outcome, cudaErrorLaunchFailure, Kind::collective);
  CHECK_CONTAINS(outcome.message(),
                 "lane 16" + at_line(other) + "bar.arrive with mask 0xffffffff meets lanes 0..15 in bar.sync");

  outcome = run(1, 64, [&] { HERE(one, barrier_sync(lane_id() < 16 ? 1 : 2, 64)); });
  check_failed(outcome, cudaErrorLaunchFailure, Kind::barrier);
  CHECK_CONTAINS(outcome.message(),
                 "lane 31" + at_line(one) + "bar.sync 2, 64 meets lane 0 of its warp in bar.sync 1, 64");

  outcome = run(1, 64, [&] {
    if (lane_id() == 7) return;
    HERE(one, barrier_sync(1, 64));
  });
  check_failed(outcome, cudaErrorLaunchFailure, Kind::collective);
  CHECK_CONTAINS(outcome.message(), "bar.sync");
}

TEST_CASE("bar: a deadlock says who waits where, and how many have come") {
  int line = 0, block = 0;
  Outcome outcome = run(1, 128, [&] {
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
  outcome = run(1, 64, [&] { HERE(line, barrier_sync(warp_id() + 1, 64)); });
  check_failed(outcome, cudaErrorLaunchTimeout, Kind::deadlock);
  CHECK_CONTAINS(outcome.message(), "Warp 0 lanes 0..31 wait at barrier 1, at which 32 of 64 threads have arrived");
  CHECK_CONTAINS(outcome.message(), "Warp 1 lanes 0..31 wait at barrier 2, at which 32 of 64 threads have arrived");
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
    CHECK(run(1, 96, body(true), options).report.findings.empty());
    const auto found = run(1, 96, body(false), options).report.findings;
    REQUIRE(found.size() == 1);
    CHECK(found[0].kind == Kind::barrier);
    CHECK(found[0].second.line == line);
    CHECK_CONTAINS(found[0].text, "the block ends with 64 of 96 threads at barrier 7");
  });
}

TEST_CASE("bar: a block after one that was stopped starts with fresh barriers") {
  run(1, 64, [&] {
    if (warp_id() == 0) barrier_sync(1, 64);
  });
  const Outcome outcome = run(2, 96, [&] { barrier_sync(1, 96); });
  CHECK_MESSAGE(outcome.ok(), outcome.message());
}

// --- what they order ---------------------------------------------------------------------------------------------

TEST_CASE("bar: participants are ordered, in both directions, through any number of uses") {
  silent({SM80(named_producer_consumer), 64, 256});
  silent({SM80(named_producer_consumer), 96, 256});
  silent({SM80(named_two_groups), 128, 256});
  silent({SM80(named_orders_own_lanes), 32, 256});
  silent({SM80(named_then_block), 96, 256});
}

TEST_CASE("bar: a warp that takes no part is not ordered" * instrumented()) {
  races({SM80(named_third_reads), 96, 256}, Kind::race_inter_warp, "write", "read");
  races({SM80(named_third_writes), 96, 256}, Kind::race_inter_warp, "one", "other");
  races({SM80(named_across_groups), 128, 256}, Kind::race_inter_warp, "write", "read");
  const Run run{SM80(named_third_reads), 96, 256};
  const Finding f = only(run);
  CHECK(f.hazard == "RAW");
  CHECK(f.where == "s[5][1]");
  check_side(run, f.first, {"write", 0, 3, true});
  check_side(run, f.second, {"read", 2, 6, false});
  CHECK_CONTAINS(f.text, "no barrier that both take part in orders them");
}

TEST_CASE("bar: a use of a barrier passes nothing on to the next use, by other warps" * instrumented()) {
  const Run run{SM80(named_reused_by_others), 128, 256};
  const Finding f = only(run);
  CHECK(f.kind == Kind::race_inter_warp);
  check_side(run, f.first, {"write", 0, 3, true});
  check_side(run, f.second, {"read", 3, 9, false});
}

TEST_CASE("bar: arrive gives and does not take; what comes after it is not given" * instrumented()) {
  races({SM80(arrive_acquires_nothing), 64, 256}, Kind::race_inter_warp, "write", "read");
  races({SM80(named_written_after_arrive), 64, 256}, Kind::race_inter_warp, "write", "read");
  races({SM80(arrive_orders_no_lanes), 64, 256}, Kind::race_intra_warp, "write", "read");
}

TEST_CASE("bar: order passes from barrier to barrier, and only forwards" * instrumented()) {
  silent({SM80(named_chain), 96, 256});
  races({SM80(named_chain_backwards), 96, 256}, Kind::race_inter_warp, "write", "read");
}

TEST_CASE("bar: a writer must have heard of every warp that reads" * instrumented()) {
  silent({SM80(named_readers_done), 96, 256});
  races({SM80(named_one_reader_forgotten), 96, 256}, Kind::race_inter_warp, "read", "write");
  const Run run{SM80(named_reader_of_round_two_forgotten), 96, 256};
  races(run, Kind::race_inter_warp, "read", "write");
  ExecOptions descending;  // warp 2 has read when warp 0 writes
  descending.schedule = Schedule::descending;
  const Finding f = only(run, descending);
  CHECK(f.hazard == "WAR");
  check_side(run, f.first, {"read", 2, 6, false});
  check_side(run, f.second, {"write", 0, 3, true});
}
