// How to recognise the bug reversed_off_by_one.
#include "checks/bugs/signature.hpp"

using namespace lab;

constexpr Shape MISSION{1, 8, 512, 64, false}, CAUSAL{2, 2, 300, 128, true};

std::vector<Part> look() {
  const Trial t = run_trial(MISSION), causal = run_trial(CAUSAL);
  const auto first_tile = [](const Trial& x) {
    return [m = plan_of(x.shape).tile_m](int row, int) { return row < m; };
  };
  return {unwritten_exactly(t, first_tile(t),
                            "rows 0 .. M - 1 of every head, M = " + std::to_string(plan_of(t.shape).tile_m)),
          unwritten_exactly(causal, first_tile(causal), "the same at D = 128, causal, S = 300")};
}
