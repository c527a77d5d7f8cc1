// How to recognise the bug setmaxnreg_sum.
#include "checks/bugs/signature.hpp"

using namespace lab;

constexpr Shape SMALL{1, 1, 200, 128, false}, WIDE_CAUSAL{1, 1, 1024, 128, true};

std::vector<Part> look() {
  const Wait wait{.at = Wait::At::registers,
                  .words = "240 registers per thread (setmaxnreg.inc), 2304 more for the warp; 256 are free"};
  return {hangs(SMALL, {{wait, 0, {at_barrier(2, 224, 256)}}, "ptx::registers_take<REGISTERS<GROUPS>>"}),
          hangs(WIDE_CAUSAL, {{wait}, "ptx::registers_take<REGISTERS<GROUPS>>"})};
}
