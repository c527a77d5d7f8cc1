// How to recognise the bug sums_not_zeroed.
#include "checks/bugs/signature.hpp"

using namespace lab;

std::vector<Part> look() {
  const Trial l = run_trial({1, 2, 70, 64, false});
  return {nan_exactly({l, dq}, everywhere, "everywhere"), still_right({l, dk}), still_right({l, dv})};
}
