// How to recognise the bug commit_missing.
#include "checks/bugs/signature.hpp"

using namespace lab;

constexpr Shape SMALL{1, 1, 200, 64, false}, LONG{1, 1, 512, 64, false};

std::vector<Part> look() {
  const char* const product = "ptx::wgmma<ptx::MN_MAJOR>(o,";
  std::vector<Part> parts = {
      checker_reports(SMALL, {Finding::Kind::in_flight, "", product}),
      checker_reports(SMALL, {Finding::Kind::read_before_wait, product, "store2(swizzled(smem.Q"}),
      checker_reports(LONG, {Finding::Kind::race_intra_warp, product, "ptx::tma_load_4d(smem.V"})};
  if (!can_schedule()) return parts;
  parts.push_back(nan_exactly(run_trial(SMALL), everywhere, "products happen as late as they may"));
  ExecOptions early;
  early.products = Copies::at_issue;
  const Trial lucky = run_trial(SMALL, Family::unit, early);
  parts.push_back(still_right(lucky, "if a product is over as soon as it is issued"));
  return parts;
}
