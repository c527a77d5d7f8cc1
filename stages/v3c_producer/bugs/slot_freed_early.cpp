// How to recognise the bug slot_freed_early.
#include "checks/bugs/signature.hpp"
#include "reference/wrong_answers.hpp"

using namespace lab;

// The first two have one tile more than the ring has slots.
constexpr Shape ONE_MORE{1, 1, 192, 64, false}, WIDE{1, 1, 192, 128, false}, LONG{1, 1, 512, 64, false};

std::vector<Part> look() {
  std::vector<Part> parts = {checker_reports(
      ONE_MORE, {Finding::Kind::race_inter_warp, "ptx::wgmma<ptx::K_MAJOR>(s", "ptx::tma_load_4d(slots[slot]"})};
  if (!can_schedule()) return parts;
  // A copy as early and a product as late as may be, and the producer runs between.
  ExecOptions options;
  options.copies = Copies::at_issue, options.products = Copies::at_wait, options.schedule = Schedule::round_robin;
  for (const Shape& shape : {ONE_MORE, WIDE, LONG}) {
    const Trial t = run_trial(shape, Family::unit, options);
    const int ring = plan_of(t.shape).slots * plan_of(t.shape).tile_n, hit = shape.S - ring;
    const auto overwritten = [&](Head& head) {
      std::copy_n(&head.k[std::size_t(ring) * shape.D], std::size_t(hit) * shape.D, head.k.begin());
    };
    parts.push_back(equals_prediction(t, wrong::attention_after(t, overwritten),
                                      "attention in which keys 0.." + std::to_string(hit - 1) + " score as keys " +
                                          std::to_string(ring) + ".." + std::to_string(shape.S - 1) +
                                          " do, if a copy happens at its issue and a product at its wait"));
  }
  return parts;
}
