// When a hang counts as the one that a bug's signature predicts, by reports that the execution wrote; and the time limit.
#include "checks/bugs/hang.hpp"

#include <chrono>
#include <numeric>
#include <vector>

#include "checks/tests/test_exec.hpp"

using namespace lab;

namespace {
std::string place(int line) { return std::string(__FILE__) + ":" + std::to_string(line); }
}  // namespace

TEST_CASE("hang: who waits for which phase, where") {
  int full_line = 0;
  const Outcome outcome = run({1, 64, 256}, [&] {
    SHARED(std::uint64_t, full, [2], 8);
    SHARED(std::uint64_t, empty, [2], 8);
    initialised(full), initialised(empty, 2);
    if (threadIdx.x < 32) {
      if (threadIdx.x == 0) cpu::mbarrier_arrive(empty + 1, 0, false), cpu::mbarrier_arrive(full, 512, true);
      AWAIT(empty + 1, 0);
    } else {
      HERE(full_line, AWAIT(full, 0));
    }
  });
  REQUIRE(outcome.finished == cudaErrorLaunchTimeout);
  const Hang& report = outcome.report.hang;
  const auto at = [](Wait wait, const char* text) { return wait.text = text, NamedHang{wait}; };
  const Wait full = for_bytes("full[0]", 0, 512), empty = at_mbarrier("empty[1]", 0, 1, 2);
  Wait no_copy = full, other_warp = full;
  no_copy.no_copy = true, other_warp.lanes = ~0u;
  REQUIRE(found(report, at(full, "AWAIT(full, 0)")));
  CHECK(sentence(*found(report, at(full, "AWAIT(full, 0)"))) ==
        "Warp 1 lanes 0..31 wait for phase 0 of full[0] (parity 0): 512 bytes missing (" + place(full_line) + ").");
  CHECK(data_of(*found(report, at(full, "AWAIT(full, 0)"))) ==
        "at=mbarrier barrier=full[0] phase=0 parity=0 missing=0 of=1 bytes=512 warps=1..1 place=" + place(full_line));
  REQUIRE(found(report, {empty}));
  CHECK(found(report, {empty})->first_warp == 0);
  CHECK(found(report, {no_copy, 0, {empty}}));
  no_copy = empty, no_copy.no_arrival = true;
  for (const NamedHang& other : {NamedHang{for_bytes("full[1]", 0, 512)},
                                 {for_bytes("full[0]", 1, 512)},
                                 {for_bytes("full[0]", 0, 51)},
                                 {at_mbarrier("empty[1]", 0, 2, 2)},
                                 at(full, "AWAIT(empty + 1, 0)"),
                                 {no_copy},
                                 {other_warp},
                                 {full, 1},
                                 {full, 0, {at_barrier(1, 32, 64)}}})
    CHECK_FALSE(found(report, other));
  CHECK_FALSE(found({}, {full}));
  Hang slow = report;
  slow.deadlock = false;
  CHECK_FALSE(found(slow, {full}));
}

TEST_CASE("hang: at a named barrier, with a warp that has returned") {
  int named = 0;
  const Outcome few = run({1, 64}, [&] {
    if (threadIdx.x < 32) HERE(named, cpu::named_barrier(3, 64, true));
  });
  REQUIRE(few.finished == cudaErrorLaunchTimeout);
  const Wait* const wait = found(few.report.hang, {at_barrier(3, 32, 64), 2});
  REQUIRE(wait);
  CHECK((wait->file + ":" + std::to_string(wait->line)) == place(named));
  CHECK(few.report.hang.waits.size() == 1);
  CHECK_FALSE(found(few.report.hang, {at_barrier(3, 64, 64)}));
}

namespace {
ExecOptions soon(int workers = 1) { return {.workers = workers, .block_seconds = 0.2}; }
volatile bool never = false;
}  // namespace

TEST_CASE("time limit: a lane that spins alone is named, and so is who waits for it") {
  int line = 0;
  const Outcome outcome = run({1, 64, 0, soon()}, [&] {
    line = __LINE__ + 1;
    while (threadIdx.x == 33 && !never) {
    }
    __syncwarp();
  });
  check_failed(outcome, cudaErrorLaunchTimeout, Finding::Kind::time_limit,
               "warp 1 lane 1" + at_line(line) + "time limit: ",
               "comes to no barrier. Warp 1 lane 0 waits in __syncwarp for lanes 1..31");
}

TEST_CASE("time limit: no line of a library is named") {
  const Outcome outcome = run({1, 32, 0, soon()}, [] {
    std::vector<int> many(100000, 1);
    while (std::accumulate(many.begin(), many.end(), 0) && !never) {
    }
  });
  CHECK(outcome.finished == cudaErrorLaunchTimeout);
  CHECK(outcome.message().c_str() == doctest::Contains("time limit: "));
  CHECK(outcome.message().c_str() != doctest::Contains("/usr/"));
}

TEST_CASE("time limit: each block has its own, and the next launch starts fresh") {
  const auto busy = [] {
    const auto begin = std::chrono::steady_clock::now();
    while (threadIdx.x == 0 && std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(60)) {
    }
    __syncthreads();
  };
  CHECK(run({6, 32, 0, soon()}, busy).ok());  // 0.36 s in all, 0.06 s each
  CHECK(run({6, 32, 0, soon(2)}, busy).ok());
}
