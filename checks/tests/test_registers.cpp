// setmaxnreg on the CPU: registers are given back and taken, and asking for more than there is hangs.
#include "checks/tests/test_exec.hpp"
#include "common/ptx/registers.cuh"

using namespace lab;
using namespace lab::ptx;
using Kind = Finding::Kind;

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
