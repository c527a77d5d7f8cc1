// How to recognise the bug fence_missing.
#include "checks/bugs/signature.hpp"

using namespace lab;

constexpr Shape MISSION{1, 8, 512, 64, false}, SMALL{1, 1, 200, 64, false}, WIDE_RAGGED{1, 1, 200, 128, true};

std::vector<Part> look() {
  const char* const product = "ptx::wgmma<ptx::MN_MAJOR>(o,";
  const Trial t = run_trial(MISSION);
  return {checker_reports(SMALL, {Finding::Kind::fence_missing, "o[d][2 * h] *= rescale", product}),
          checker_reports(WIDE_RAGGED, {Finding::Kind::fence_missing, "o[d][2 * h] *= rescale", product}),
          still_right(t, "where the compiler puts the registers in order")};
}
