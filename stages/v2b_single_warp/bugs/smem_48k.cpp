// How to recognise the bug smem_48k.
#include "checks/bugs/signature.hpp"

using namespace lab;

constexpr Shape MISSION{1, 8, 512, 64, false};

std::vector<Part> look() {
  ExecOptions first_block;  // in the fixed build the launch is not refused, and need not run to its end
  first_block.blocks = {0};
  const Trial t = run_trial(MISSION, Family::unit, first_block);
  return {refused(t, {"81408", "49152"})};  // sizeof(Smem<64, 2>)
}
