// How to recognise the bug turns_not_cleared.
#include "checks/bugs/signature.hpp"

using namespace lab;

std::vector<Part> look() {
  if (!can_schedule()) return {};  // a GPU would wait for ever
  return {fails(run_trial({1, 1, 100, 64, false}), cudaErrorLaunchTimeout, {"waits in a spin on element"})};
}
