// How to recognise the bug unseen_parts.
#include "checks/bugs/signature.hpp"

using namespace lab;

std::vector<Part> look() {
  const Trial masked = run_trial({1, 1, 300, 64, true}), whole = run_trial({1, 1, 300, 64, false});
  const Where earlier = [](int row, int) { return row < 2 * subject().tile_n; };
  return {nan_exactly({masked, dq}, earlier, "in all rows but those of the last key block, under a mask"),
          still_right({masked, dk}), still_right({whole, dq})};
}
