// How to recognise the bug empty_group_missing.
#include "checks/bugs/signature.hpp"

using namespace lab;

constexpr Shape CAUSAL{1, 1, 512, 64, true}, WIDE_RAGGED{1, 1, 200, 128, true};

std::vector<Part> look() {
  std::vector<Part> parts = {
      checker_reports(CAUSAL, {Finding::Kind::changed_before_wait, "ptx::wgmma<ptx::K_MAJOR>(s,", "hide_keys(s,"}),
      checker_reports(WIDE_RAGGED, {Finding::Kind::read_before_wait, "ptx::wgmma<ptx::K_MAJOR>(s,", "weigh(s,"}),
      schedules_differ(WIDE_RAGGED)};
  if (!can_schedule()) return parts;
  parts.push_back(
      nan_exactly(run_trial(CAUSAL), everywhere,
                  "tile 0's product happens at the wait for O: its scores are read as NaN, and so is every sum"));
  parts.push_back(nan_exactly(run_trial(WIDE_RAGGED), everywhere, "the same at D = 128, S = 200"));
  ExecOptions early;
  early.products = Copies::at_issue;
  const Trial lucky = run_trial(CAUSAL, Family::unit, early);
  parts.push_back(still_right(lucky, "if a product is over as soon as it is issued"));
  return parts;
}
