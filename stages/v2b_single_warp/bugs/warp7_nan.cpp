// How to recognise the bug warp7_nan.
#include "checks/bugs/signature.hpp"

using namespace lab;

constexpr Shape MISSION{1, 8, 512, 64, false};

std::vector<Part> look() {
  const Trial t = run_trial(MISSION);
  const int m = plan_of(t.shape).tile_m, first = m - plan_of(t.shape).rows_per_warp;
  return {nan_exactly(
      t, [=](int row, int) { return row % m >= first; },
      "row mod " + std::to_string(m) + " >= " + std::to_string(first) + ", 1/8 of the output")};
}
