// How to recognise the bug arrive_count_one.
#include "checks/bugs/signature.hpp"

using namespace lab;

constexpr Shape ONE_TILE{1, 1, 64, 128, false}, AS_LONG_AS_THE_RING{1, 1, 384, 128, false},
    LONGER{1, 1, 768, 128, false};

std::vector<Part> look() {
  std::vector<Part> parts = {
      hangs(LONGER, {.hang = {at_mbarrier("k_empty[1]", 2, 4, 4), 0, {at_mbarrier("k_full[1]", 1, 1, 1)}},
                     .line = "ptx::mbarrier_wait(empty,",
                     .under = Under::some}),
      checker_reports(ONE_TILE, {Finding::Kind::mbarrier, "", "ptx::mbarrier_arrive(smem.k_empty"})};
  const Trial t = run_trial(AS_LONG_AS_THE_RING);
  parts.push_back(still_right(t, "where no slot is used twice: 384 keys at D = 128"));
  return parts;
}
