// How to recognise the bug unseen_parts.
#include "checks/bugs/backward_parts.hpp"

using namespace lab;

std::vector<Part> look() {
  const Look masked = look_at({1, 1, 300, 64, true}), whole = look_at({1, 1, 300, 64, false});
  const Where earlier = [](int row, int) { return row < 2 * subject().tile_n; };
  return {nan_exactly(masked, Gradient::dq, earlier, "in all rows but those of the last key block, under a mask"),
          still_right(masked, Gradient::dk), still_right(whole, Gradient::dq)};
}
