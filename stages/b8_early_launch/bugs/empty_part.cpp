// How to recognise the bug empty_part.
#include "checks/bugs/signature.hpp"

using namespace lab;

std::vector<Part> look() {
  const Trial masked = run_trial({1, 1, 512, 64, true}), whole = run_trial({1, 1, 512, 64, false});
  const Where later = [](int row, int) { return row >= subject().tile_n; };
  return {nan_exactly({masked, dk}, later, "from the second key block on, under a mask"),
          nan_exactly({masked, dv}, later, "there, too"), still_right({masked, dq}), still_right({whole, dk})};
}
