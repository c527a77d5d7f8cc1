// bar.sync, mbarriers and setmaxnreg on the CPU: who waits for whom, and what a deadlock's report says of it.
#include "checks/tests/async_fixtures.hpp"
#include "checks/tests/test_exec.hpp"
#include "common/ptx/barrier.cuh"
#include "common/ptx/wgmma.cuh"

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

using namespace lab::ptx;

namespace {

MBarrier* fresh(int count, unsigned arrivals) {
  SmemCursor cursor;
  return barriers(cursor, count, arrivals);
}

constexpr std::size_t SMEM = 1024;

}  // namespace

TEST_CASE("mbarrier: a wait ends when as many have arrived as were announced, and not before") {
  under_all_schedules([](const ExecOptions& options) {
    int came = 0, seen[32] = {};
    runs({1, 128, SMEM, options}, [&] {
      MBarrier* full = fresh(1, 96);
      if (warp_id() == 3) {
        mbarrier_wait(full, 0);
        seen[lane_id()] = came;
      } else {
        ++came;
        mbarrier_arrive(full);
      }
    });
    for (const int s : seen) CHECK(s == 96);
  });
}

TEST_CASE("mbarrier: parity 1 passes on a fresh barrier, and each phase passes the wait for its own parity") {
  runs({1, 1, SMEM}, [&] {
    MBarrier* full = fresh(1, 1);
    for (unsigned phase = 0; phase < 5; ++phase) {
      CHECK_FALSE(mbarrier_try_wait(full, phase & 1));
      CHECK(mbarrier_try_wait(full, (phase & 1) ^ 1));
      mbarrier_wait(full, (phase & 1) ^ 1);
      mbarrier_arrive(full);
    }
  });
}

TEST_CASE("mbarrier: try_wait lets others run, and can be used to spin") {
  under_all_schedules([](const ExecOptions& options) {
    int spins = 0;
    runs({1, 64, SMEM, options}, [&] {
      MBarrier* full = fresh(1, 1);
      if (warp_id() == 0) {
        while (!mbarrier_try_wait(full, 0)) ++spins;
      } else if (threadIdx.x == 40) {
        mbarrier_arrive(full);
      }
    });
    CHECK(spins <= 64);
  });
}

TEST_CASE("mbarrier: a block after one that was stopped starts with none") {
  run({1, 32, SMEM}, [&] { mbarrier_wait(fresh(1, 1), 0); });
  runs({3, 64, SMEM}, [&] {
    MBarrier* full = fresh(1, 64);
    mbarrier_arrive(full);
    mbarrier_wait(full, 0);
  });
}

namespace {

struct Plan {
  unsigned char* tile;
  MBarrier *full, *empty;
};

Plan fresh(unsigned empties) {
  AlignedSmemCursor cursor;
  return {cursor.array<unsigned char, SWIZZLE_ALIGN>("tile", 2, 1024), barriers(cursor, 2),
          barriers(cursor, 2, empties, "empty")};
}

Outcome hang(unsigned threads, const std::function<void()>& thread) { return run({1, threads, 2048 + 128}, thread); }
template <class... Text>
void check_hung(const Outcome& outcome, const Text&... pieces) {
  check_failed(outcome, cudaErrorLaunchTimeout, Finding::Kind::deadlock, pieces...);
}

}  // namespace

TEST_CASE("async deadlock: who came to the phase before, and has not come now") {
  int free_line = 0, wait = 0;
  Global from(4096);
  const Outcome outcome = hang(96, [&] {
    const Plan plan = fresh(64);
    if (threadIdx.x == 0) {
      for (int round = 0; round < 3; ++round) {
        HERE(wait, mbarrier_wait(plan.empty, unsigned(round & 1) ^ 1));
        mbarrier_arrive_expect_tx(plan.full, 1024);
        bulk_load(plan.tile, from.bytes, 1024, plan.full);
      }
    } else if (threadIdx.x >= 32) {
      mbarrier_wait(plan.full, 0);
      HERE(free_line, mbarrier_arrive(plan.empty));
      mbarrier_wait(plan.full, 1);
      if (threadIdx.x == 40) return;
      if (threadIdx.x < 64) mbarrier_arrive(plan.empty);
    }
  });
  check_hung(outcome,
             "Warp 0 lane 0 waits for phase 1 of empty[0] (parity 1): 33 of 64 arrivals missing " + spot(wait) + ".",
             "empty[0]: in phase 1 arrived warp 1 lanes 0..7,9..31 (",
             "; in the one before it arrived warps 1..2 lanes 0..31 " + spot(free_line) + ".",
             "All lanes of these warps have returned: 1..2.");
}

TEST_CASE("async deadlock: a copy of the phase before is named") {
  int load = 0;
  Global from(4096);
  const Outcome outcome = hang(32, [&] {
    const Plan plan = fresh(1);
    if (threadIdx.x == 3) {
      mbarrier_arrive_expect_tx(plan.full, 512);
      HERE(load, bulk_load(plan.tile, from.bytes, 512, plan.full));
    }
    mbarrier_wait(plan.full, 0);
    mbarrier_wait(plan.full, 1);
  });
  check_hung(outcome, "full[0]: in phase 1 no thread has arrived; in the one before it arrived warp 0 lane 3 (",
             "; its last copy was issued in phase 0 by warp 0 lane 3 " + spot(load) + ".");
}

namespace {
int group() { return int(threadIdx.x) / 128; }
}  // namespace

TEST_CASE("setmaxnreg: a producer gives back what two consumers take") {
  under_all_schedules([](const ExecOptions& options) {
    int gave = 0, early = 0;
    runs({1, 384, 0, options},  // 168 each at launch
         [&] {
           if (group() == 0) {
             ++gave;
             registers_release<24>();
           } else {
             registers_take<240>();
             early += gave < 128;
           }
         });
    CHECK(early < 256);  // the last warps to take have to wait for all of it
  });
}

TEST_CASE("setmaxnreg: what is taken must be there, or the block hangs and says so") {
  int line = 0;
  const Outcome outcome = run({1, 384}, [&] {
    if (group() == 0)
      registers_release<24>();
    else
      HERE(line, registers_take<248>());
  });
  check_failed(outcome, cudaErrorLaunchTimeout, Kind::deadlock,
               "wait for 248 registers per thread (setmaxnreg.inc), 2560 more for the warp; ",
               " are free " + spot(line));
}

TEST_CASE("setmaxnreg: a warp that never comes is a finding of the checker") {
  for (const bool all : {true, false}) {
    int line = 0;
    ExecOptions options;
    options.check = true;
    const Outcome outcome = runs({1, 256, 0, options}, [&] {
      if (group() == 0 && (all || threadIdx.x / 32 != 2)) HERE(line, registers_release<40>());
    });
    REQUIRE(outcome.report.findings.size() == (all ? 0u : 1u));
    if (all) continue;
    const Finding& f = outcome.report.findings[0];
    CHECK(f.kind == Kind::collective);
    CHECK(f.second.line == line);
    CHECK_CONTAINS(f.text, "setmaxnreg by a part of a warpgroup: warp 2 never came");
  }
}
