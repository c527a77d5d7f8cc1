// How to recognise the bug turn_of_a_tile.
#include "checks/bugs/signature.hpp"

using namespace lab;

std::vector<Part> look() {
  std::vector<Part> parts = {still_right({run_trial({1, 67, 130, 64, true}), dq})};
  if (can_schedule())  // a GPU would wait for ever
    parts.push_back(fails(run_trial({1, 5, 1030, 128, true}), cudaErrorLaunchTimeout, {"waits in a spin on element"}));
  return parts;
}
