// How to recognise the bug empty_part.
#include "checks/bugs/backward_parts.hpp"

using namespace lab;

std::vector<Part> look() {
  const Look masked = look_at({1, 1, 512, 64, true}), whole = look_at({1, 1, 512, 64, false});
  const Where later = [](int row, int) { return row >= subject().tile_n; };
  return {nan_exactly(masked, Gradient::dk, later, "from the second key block on, under a mask"),
          nan_exactly(masked, Gradient::dv, later, "there, too"), still_right(masked, Gradient::dq),
          still_right(whole, Gradient::dk)};
}
