// How to recognise the bug turn_left_over.
#include "checks/bugs/signature.hpp"

using namespace lab;

constexpr Shape MISSION{1, 8, 512, 64, false}, ONE_TILE{1, 1, 128, 64, false}, WIDE_CAUSAL{1, 1, 300, 128, true};

std::vector<Part> look() {
  const ExpectedReport left{Finding::Kind::barrier, "", "ptx::barrier_arrive(2 + (group + 1) % GROUPS"};
  const Trial t = run_trial(MISSION);
  return {checker_reports(ONE_TILE, left), checker_reports(WIDE_CAUSAL, left),
          still_right(t, "as no use of the barrier follows")};
}
