// How to recognise the bug setmaxnreg_sum.
#include "checks/bugs/fingerprint.hpp"

namespace {
using namespace lab;

constexpr Shape SMALL{1, 1, 200, 64, false}, WIDE_CAUSAL{1, 1, 1024, 128, true};

std::vector<Part> look() {
  const char* const who = "240 registers per thread (setmaxnreg.inc), 2304 more for the warp; 256 are free";
  return {hangs(SMALL, {who, "ptx::registers_take<REGISTERS>", "at which 224 of 256 threads have arrived"}),
          hangs(WIDE_CAUSAL, {who, "ptx::registers_take<REGISTERS>"})};
}

const RegisteredFingerprint registered(look);

}  // namespace
