// mbarriers on the CPU: phases, parities, waits, and the reports of misuse.
#include "checks/tests/async_fixtures.hpp"
#include "checks/tests/test_exec.hpp"

using namespace lab;
using namespace lab::ptx;
using Kind = Finding::Kind;

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

TEST_CASE("mbarrier: who polls in vain for ever is a deadlock, with the phase and what it lacks") {
  int line = 0;
  const Outcome outcome = run({1, 32, SMEM}, [&] {
    MBarrier* full = fresh(3, 2);
    if (threadIdx.x == 0) mbarrier_arrive(full + 1);
    HERE(line, while (!mbarrier_try_wait(full + 1, 0)){});
  });
  check_failed(outcome, cudaErrorLaunchTimeout, Kind::deadlock,
               "phase 0 of full[1] (parity 0): 1 of 2 arrivals missing " + spot(line));
}

TEST_CASE("mbarrier: a block after one that was stopped starts with none") {
  run({1, 32, SMEM}, [&] { mbarrier_wait(fresh(1, 1), 0); });
  runs({3, 64, SMEM}, [&] {
    MBarrier* full = fresh(1, 64);
    mbarrier_arrive(full);
    mbarrier_wait(full, 0);
  });
}
