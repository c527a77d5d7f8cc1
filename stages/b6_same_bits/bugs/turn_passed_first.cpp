// How to recognise the bug turn_passed_first.
#include "checks/acceptance/cases.hpp"
#include "checks/acceptance/same_bits.hpp"
#include "checks/bugs/gpu_child_process.hpp"
#include "checks/bugs/signature.hpp"

using namespace lab;

std::vector<Part> look() {
  const SameBits seen = count_outputs(subject(), {1, 1, 300, 64, false});
  Part bits{.expected = "dQ has other bits in another order of blocks",
            .shown = seen.each[dq] > 1,
            .seen = text(seen.shape) + ": " + std::to_string(seen.each[dq]) + " outputs of dQ in " +
                    std::to_string(seen.launches) + " launches"};
  if (!can_schedule()) bits = may_hide(bits, ": a GPU may start and run the blocks in one order");
  return {bits, still_right({run_trial({1, 2, 100, 64, false}), dq})};
}
