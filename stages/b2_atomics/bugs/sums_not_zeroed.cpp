// How to recognise the bug sums_not_zeroed.
#include "checks/bugs/backward_parts.hpp"

using namespace lab;

std::vector<Part> look() {
  const Look l = look_at({1, 2, 70, 64, false});
  return {nan_exactly(l, Gradient::dq, everywhere, "everywhere"), still_right(l, Gradient::dk),
          still_right(l, Gradient::dv)};
}
