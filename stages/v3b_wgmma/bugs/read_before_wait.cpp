// How to recognise the bug read_before_wait.
#include "checks/bugs/signature.hpp"

using namespace lab;

constexpr Shape SMALL{1, 1, 256, 64, false};

std::vector<Part> look() {
  std::vector<Part> parts = {checker_reports(SMALL, {Finding::Kind::read_before_wait, "ptx::wgmma<ptx::K_MAJOR>(s,",
                                                     "float tile_max = fmaxf(s[0]"}),
                             schedules_differ(SMALL)};
  if (!can_schedule()) return parts;
  parts.push_back(
      nan_exactly(run_trial(SMALL), everywhere, "a product happens at the wait for it: the scores are read as NaN"));
  ExecOptions early;
  early.products = Copies::at_issue;
  const Trial lucky = run_trial(SMALL, Family::unit, early);
  parts.push_back(still_right(lucky, "if a product is over as soon as it is issued"));
  return parts;
}
