// How to recognise the bug ds_not_fenced.
#include "checks/bugs/signature.hpp"

using namespace lab;

std::vector<Part> look() {
  const Trial l = run_trial({1, 2, 100, 64, false});
  return {checker_reports({1, 1, 100, 64, false}, {Finding::Kind::proxy, "ptx::stmatrix_x4_trans"}),
          still_right({l, dk}), still_right({l, dv})};
}
