// How to recognise the bug rows_past_end.
#include "checks/bugs/backward_parts.hpp"

using namespace lab;

std::vector<Part> look() {
  const Look ragged = look_at({1, 2, 100, 64, false}), whole = look_at({1, 2, 96, 64, false});
  return {nan_exactly(ragged, Gradient::dk, everywhere, "everywhere at S = 100"),
          nan_exactly(ragged, Gradient::dv, everywhere, "everywhere at S = 100"), still_right(ragged, Gradient::dq),
          still_right(whole, Gradient::dk), still_right(whole, Gradient::dv)};
}
