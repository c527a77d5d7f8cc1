// When a hang counts as the one that a bug's fingerprint predicts: by reports that the execution wrote.
#include "checks/bugs/hang.hpp"

#include <cstdlib>

#include "checks/tests/test_exec.hpp"
#include "common/ptx/barrier.cuh"
#include "common/ptx/mbarrier.cuh"
#include "common/smem_plan.cuh"

using namespace lab;
using namespace lab::ptx;

namespace {
std::string place(int line) { return std::string(__FILE__) + ":" + std::to_string(line); }
}  // namespace

TEST_CASE("hang: who waits for which phase, where") {
  int full_line = 0, empty_line = 0;
  const Outcome outcome = run({1, 64, 256}, [&] {
    AlignedSmemCursor cursor;
    MBarrier* full = cursor.array<MBarrier>("full", 2, 1);
    MBarrier* empty = cursor.array<MBarrier>("empty", 2, 1);
    if (threadIdx.x == 0) {
      for (int i = 0; i < 2; ++i) mbarrier_init(full + i, 1), mbarrier_init(empty + i, 2);
      fence_mbarrier_init();
    }
    __syncthreads();
    if (threadIdx.x < 32) {
      if (threadIdx.x == 0) mbarrier_arrive(empty + 1), mbarrier_arrive_expect_tx(full, 512);
      HERE(empty_line, mbarrier_wait(empty + 1, 0));
    } else {
      HERE(full_line, mbarrier_wait(full, 0));
    }
  });
  const std::string& report = outcome.message();
  REQUIRE(outcome.finished == cudaErrorLaunchTimeout);
  const std::string full = "phase 0 of full[0] (parity 0): 512 bytes missing";
  const std::string empty = "phase 0 of empty[1] (parity 0): 1 of 2 arrivals missing";
  const std::string story = "no copy was ever issued for it";
  CHECK(hang_sentence(report, {full, place(full_line), story}) ==
        "Warp 1 lanes 0..31 wait for " + full + " (" + place(full_line) + ").");
  CHECK(hang_sentence(report, {empty, place(empty_line), ""}) ==
        "Warp 0 lanes 0..31 wait for " + empty + " (" + place(empty_line) + ").");
  CHECK(hang_sentence(report, {full, "", ""}) != "");
  // Another barrier, another phase, another count, another place, another story.
  CHECK(hang_sentence(report, {"phase 0 of full[1] (parity 0): 512 bytes missing", "", ""}) == "");
  CHECK(hang_sentence(report, {"phase 1 of full[0] (parity 1): 512 bytes missing", "", ""}) == "");
  CHECK(hang_sentence(report, {"phase 0 of full[0] (parity 0): 51 bytes missing", "", ""}) == "");
  CHECK(hang_sentence(report, {full, place(empty_line), ""}) == "");
  CHECK(hang_sentence(report, {full, place(full_line), "its last copy was issued"}) == "");
  CHECK(hang_sentence(report.substr(report.find("no thread can go on.")), {full, "", ""}) == "");
  CHECK(hang_sentence("", {full, "", ""}) == "");
}

TEST_CASE("hang: at a named barrier") {
  int named = 0;
  const Outcome few = run({1, 64}, [&] {
    if (threadIdx.x < 32) HERE(named, barrier_sync(3, 64));
  });
  REQUIRE(few.finished == cudaErrorLaunchTimeout);
  CHECK(hang_sentence(few.message(), {"barrier 3, at which 32 of 64 threads have arrived", place(named), ""}) ==
        "Warp 0 lanes 0..31 wait at barrier 3, at which 32 of 64 threads have arrived (" + place(named) + ").");
  CHECK(hang_sentence(few.message(), {"barrier 3, at which 64 of 64 threads have arrived", "", ""}) == "");
}

TEST_CASE("hang: what became of a process that launched") {
  CHECK(how_it_ended(std::system("exit 0")) == Ended::well);
  CHECK(how_it_ended(std::system(("exit " + std::to_string(HUNG)).c_str())) == Ended::hung);
  CHECK(how_it_ended(std::system("exit 1")) == Ended::otherwise);
  CHECK(how_it_ended(std::system("exit 3")) == Ended::otherwise);
  CHECK(how_it_ended(std::system("kill -9 $$")) == Ended::otherwise);
}

TEST_CASE("hang: a launch that stops with an error has not come to its end") {
  const std::string ran = "v3b_wgmma, unit inputs, (1,1,456,64), seed 1: ran\n",
                    stopped =
                        "v3b_wgmma, unit inputs, (1,1,456,64), seed 1:  (cudaErrorIllegalInstruction: an illegal "
                        "instruction (of warp 0))\n";
  CHECK(stopped_by(ran) == "");
  CHECK(stopped_by(stopped) == "cudaErrorIllegalInstruction: an illegal instruction (of warp 0)");
  CHECK(stopped_by("a remark before it\n" + stopped) == stopped_by(stopped));
  CHECK(stopped_by("") == "");
}
