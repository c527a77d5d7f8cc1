// How to recognise the bug smem_overflow.
#include "checks/bugs/signature.hpp"

using namespace lab;

std::vector<Part> look() {
  ExecOptions first_block;  // in the fixed build the launch is not refused, and need not run to its end
  first_block.blocks = {0};
  // 2048 keys take three stages. The budget is sm_89's on every backend, so a GPU with room for it refuses it too.
  return {refused(run_trial({1, 1, 2048, 128, false}, Family::unit, first_block), {"173568", "101376"})};
}
