// How to recognise the bug rows_past_end.
#include "checks/bugs/signature.hpp"

using namespace lab;

std::vector<Part> look() {
  const Trial ragged = run_trial({1, 2, 100, 64, false}), whole = run_trial({1, 2, 96, 64, false});
  return {nan_exactly({ragged, dk}, everywhere, "everywhere at S = 100"),
          nan_exactly({ragged, dv}, everywhere, "everywhere at S = 100"), still_right({ragged, dq}),
          still_right({whole, dk}), still_right({whole, dv})};
}
