// How to recognise the bug lanes_not_awaited.
#include "checks/bugs/signature.hpp"

using namespace lab;

// One multiprocessor and two pieces: what says that none is left comes into the first one's slot. One group, which takes
// no turns: those would order the lanes.
constexpr Shape SMALL{1, 2, 64, 64, true}, WIDE{1, 2, 64, 128, true};

std::vector<Part> look() {
  const ExpectedReport race{Finding::Kind::race_inter_warp, "if (work.tile < 0) return false;",
                            "smem.work[q_at.slot] = work;  // no tile", 1};
  return {checker_reports(SMALL, race), checker_reports(WIDE, race)};
}
