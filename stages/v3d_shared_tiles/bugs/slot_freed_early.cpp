// How to recognise the bug slot_freed_early.
#include "checks/bugs/signature.hpp"
#include "reference/wrong_answers.hpp"

namespace {
using namespace lab;

// One tile more than the ring has slots: four at D = 64, three at D = 128.
constexpr Shape ONE_MORE{1, 1, 640, 64, false}, WIDE{1, 1, 512, 128, false}, LONG{1, 1, 1024, 64, false};

std::vector<Part> look() {
  std::vector<Part> parts = {checker_reports(
      ONE_MORE, {Finding::Kind::race_inter_warp, "ptx::wgmma<ptx::K_MAJOR>(s", "ptx::tma_load_4d(slots[slot]"})};
  if (!can_schedule()) return parts;
  // A copy as early and a product as late as may be, and the producer runs between.
  ExecOptions options;
  options.copies = Copies::at_issue, options.products = Copies::at_wait, options.schedule = Schedule::round_robin;
  for (const auto& [shape, slots] : {std::pair(ONE_MORE, 4), std::pair(WIDE, 3), std::pair(LONG, 4)}) {
    const Trial t = run_trial(shape, Family::unit, options);
    const int N = stage().plan(t.shape).tile_n, D = shape.D, ring = slots * N;
    const auto overwritten = [&](Head& head) {
      std::copy_n(&head.k[std::size_t(ring) * D], std::size_t(N) * D, head.k.begin());
    };
    parts.push_back(equals_prediction(t, wrong::attention_after(overwritten, shape, t.scale, t.in.q, t.in.k, t.in.v),
                                      "attention in which keys 0.." + std::to_string(N - 1) + " score as keys " +
                                          std::to_string(ring) + ".." + std::to_string(ring + N - 1) +
                                          " do, if a copy happens at its issue and a product at its wait"));
  }
  return parts;
}

const RegisteredSignature registered(look);

}  // namespace
