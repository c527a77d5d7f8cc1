// How to recognise the bug init_not_fenced.
#include "checks/bugs/signature.hpp"

using namespace lab;

constexpr Shape SMALL{1, 1, 128, 64, false};

std::vector<Part> look() {
  const Trial t = run_trial(SMALL);
  return {
      checker_reports(SMALL, {Finding::Kind::mbarrier, "ptx::mbarrier_init(smem.q_full", "ptx::tma_load_4d(smem.Q"}),
      checker_reports(SMALL,
                      {Finding::Kind::mbarrier, "ptx::mbarrier_init(smem.full[slot]", "ptx::tma_load_4d(smem.K"}),
      still_right(t, "all the same")};
}
