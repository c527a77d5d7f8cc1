// How to recognise the bug q_freed_early.
#include "checks/bugs/signature.hpp"

using namespace lab;

// A block needs a second piece of work, so one multiprocessor has them all.
constexpr Shape SMALL{1, 2, 100, 64, false}, WIDE{1, 2, 100, 128, true};

std::vector<Part> look() {
  const ExpectedReport race{Finding::Kind::race_inter_warp, "ptx::wgmma<ptx::K_MAJOR>(s,", "ptx::tma_load_4d(smem.Q,",
                            1};
  return {checker_reports(SMALL, race), checker_reports(WIDE, race)};
}
