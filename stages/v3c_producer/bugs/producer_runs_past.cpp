// How to recognise the bug producer_runs_past.
#include "checks/bugs/signature.hpp"

using namespace lab;

constexpr Shape PLAIN{1, 1, 512, 64, false}, MASKED{1, 1, 128, 64, true}, LONG{1, 1, 512, 64, true};

std::vector<Part> look() {
  const Trial t = run_trial(PLAIN);
  return {hangs(LONG, {{at_mbarrier("k_empty[1]", 0, 4, 4), 0xF}, "ptx::mbarrier_wait(empty[slot]"}),
          checker_reports(MASKED, {Finding::Kind::in_flight, "", "ptx::tma_load_4d(slots[slot]"}),
          still_right(t, "without a mask")};
}
