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

TEST_CASE("mbarrier: a deadlock says for which barrier and phase, and warps that stand alike share a sentence") {
  int line = 0;
  const Outcome outcome = run({1, 160, SMEM}, [&] {
    MBarrier* full = fresh(2, 4);
    if (warp_id() == 4) {
      for (int i = 0; i < 6; ++i)
        if (lane_id() == 3) mbarrier_arrive(full + 1);
      if (lane_id() == 3) mbarrier_arrive_expect_tx(full + 1, 64);
      return;
    }
    HERE(line, mbarrier_wait(full + 1, 0));
    HERE(line, mbarrier_wait(full + 1, 1));
  });
  check_failed(outcome, cudaErrorLaunchTimeout, Kind::deadlock,
               "Warps 0..3 lanes 0..31 wait for phase 1 of full[1] (parity 1): 1 of 4 arrivals and 64 bytes missing " +
                   spot(line) + ".",
               "All lanes of these warps have returned: 4.");
}

TEST_CASE("mbarrier: misuse is named") {
  const auto refused = [](unsigned threads, const std::string& text, const std::function<void()>& thread) {
    const Outcome outcome = run({1, threads, SMEM}, thread);
    CHECK(outcome.finished != cudaSuccess);
    REQUIRE(outcome.report.findings.size() == 1);
    CHECK(outcome.report.findings[0].kind == Kind::mbarrier);
    CHECK_CONTAINS(outcome.message(), text);
  };
  refused(32, "mbarrier.arrive on full[1], which no thread has initialised yet", [] {
    SmemCursor cursor;
    auto* full = cursor.array<MBarrier>("full", 2, 1);
    mbarrier_arrive(full + 1);
  });
  refused(32, "mbarrier.try_wait on an address outside shared memory", [] {
    MBarrier elsewhere;
    mbarrier_wait(&elsewhere, 0);
  });
  refused(32, "mbarrier.init on full[0], which is a barrier already", [] { mbarrier_init(fresh(1, 3), 3); });
  refused(1, "mbarrier.init for 0 arrivals; 1 to 1048575 are allowed", [] { fresh(1, 0); });
  refused(1, "mbarrier.init for 1048576 arrivals", [] { fresh(1, 1u << 20); });
  refused(1, "no multiple of 8", [] {
    SmemCursor cursor;
    auto* bytes = cursor.array<unsigned char>("bytes", 64, 1);
    mbarrier_init(reinterpret_cast<MBarrier*>(bytes + 4), 1);
  });
  refused(1, "mbarrier.arrive on full[0]: all 1 arrivals of phase 0 have been made; it waits for 16 bytes", [] {
    MBarrier* full = fresh(1, 1);
    mbarrier_arrive_expect_tx(full, 16);
    mbarrier_arrive(full);
  });
  refused(1, "is to wait for 1048576 bytes; 1048575 are allowed",
          [] { mbarrier_arrive_expect_tx(fresh(1, 1), 1u << 20); });
  // As many as there may be; and of bytes no more than that in all.
  runs({1, 1, SMEM}, [] { fresh(1, (1u << 20) - 1); });
  refused(1, "is to wait for 1200000 bytes; 1048575 are allowed", [] {
    MBarrier* full = fresh(1, 2);
    for (int i = 0; i < 2; ++i) mbarrier_arrive_expect_tx(full, 600'000);
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
