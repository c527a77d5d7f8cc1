// How the acceptance's cases are run: each is a subcase of doctest, in the test case of its group; what is reported of them is a
// doctest reporter's. The same for every stage, pass and backend.
#pragma once
#include <functional>
#include <span>
#include <vector>

#include "checks/acceptance/case_run.hpp"
#include "checks/key_values.hpp"

namespace lab {

struct Acceptance {
  const Subject& subject;
  AcceptanceOptions options;
  std::vector<Case> cases;                       // in the order of the report
  std::function<double(const Case& test)> cost;  // for the progress line
  double seconds = 1e9;                          // with `quick`, no case begins later
};
// Prints the report, ends it with `N passed, M failed`, and returns 0 if all is green, else 1.
int run_acceptance(const Acceptance& acceptance);

}  // namespace lab
