// How to recognise the bug parity_never_flips.
#include "checks/bugs/signature.hpp"
#include "reference/wrong_answers.hpp"

using namespace lab;

// Two laps around the ring: three slots at D = 64, two at D = 128.
constexpr Shape TWO_LAPS{1, 1, 384, 64, false}, WIDE{1, 1, 256, 128, false};

std::vector<Part> look() {
  std::vector<Part> parts = {hangs(TWO_LAPS, {.hang = {at_mbarrier("full[0]", 2, 1, 1)},
                                              .line = "ptx::mbarrier_wait(smem.full",
                                              .copies = {Copies::at_issue}}),
                             checker_reports(TWO_LAPS, {Finding::Kind::before_phase, "ptx::tma_load_4d(smem.K",
                                                        "ptx::ldmatrix_x4(b[0], b[1], swizzled(K"}),
                             checker_reports(TWO_LAPS, {Finding::Kind::before_phase, "ptx::tma_load_4d(smem.V",
                                                        "ptx::ldmatrix_x4_trans(b[0], b[1], swizzled(V"})};
  if (!can_schedule()) return parts;
  parts.push_back(schedules_differ(TWO_LAPS));
  ExecOptions late;
  late.copies = Copies::at_wait;
  for (const auto& [shape, first_lap] : {std::pair(TWO_LAPS, 192), std::pair(WIDE, 128)}) {
    const Trial t = run_trial(shape, Family::unit, late);
    parts.push_back(equals_prediction(
        t, wrong::other_mask(t, [keys = first_lap](int) { return keys; }),
        "attention over the first " + std::to_string(first_lap) + " keys, if a copy lands at the wait for it"));
  }
  return parts;
}
