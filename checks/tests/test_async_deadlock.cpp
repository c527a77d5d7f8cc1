// The report of a deadlock on an mbarrier: phase, missing arrivals, arrived threads, and whether a copy was requested.
#include "checks/tests/async_fixtures.hpp"
#include "checks/tests/test_exec.hpp"

using namespace lab;
using namespace lab::ptx;

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

TEST_CASE("async deadlock: bytes were announced, and no copy was ever issued") {
  int arrive = 0, wait = 0;
  const Outcome outcome = hang(64, [&] {
    const Plan plan = fresh(1);
    if (threadIdx.x == 5) HERE(arrive, mbarrier_arrive_expect_tx(plan.full + 1, 1024));
    HERE(wait, mbarrier_wait(plan.full + 1, 0));
  });
  check_hung(outcome,
             "Warps 0..1 lanes 0..31 wait for phase 0 of full[1] (parity 0): 1024 bytes missing " + spot(wait) + ".",
             "full[1]: in phase 0 arrived warp 0 lane 5 " + spot(arrive) + "; no copy was ever issued for it.");
}

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
