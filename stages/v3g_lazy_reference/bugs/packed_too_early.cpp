// How to recognise the bug packed_too_early.
#include "checks/bugs/signature.hpp"
#include "reference/wrong_answers.hpp"

using namespace lab;

constexpr Shape MISSION{1, 8, 512, 64, false}, WIDE_RAGGED{1, 1, 300, 128, true}, ONE_TILE{1, 2, 64, 64, false};

std::vector<Part> look() {
  std::vector<Part> parts = {
      checker_reports(WIDE_RAGGED, {Finding::Kind::changed_before_wait, "ptx::wgmma<ptx::MN_MAJOR>(o, p[n / 16]",
                                    "pack(p, s, 0, EARLY)"}),
      schedules_differ(WIDE_RAGGED)};
  if (!can_schedule()) return parts;
  const auto predicted = [](const Trial& t) {
    const int tile_n = plan_of(t.shape).tile_n;
    return wrong::packed_too_early(t, tile_n, tile_n / 2);
  };
  ExecOptions at_issue;
  at_issue.products = Copies::at_issue;
  const Trial late = run_trial(MISSION), wide = run_trial(WIDE_RAGGED), one = run_trial(ONE_TILE),
              lucky = run_trial(MISSION, Family::unit, at_issue);
  parts.push_back(
      equals_prediction(late, predicted(late), "attention with the next tile's weights for half of a tile's keys"));
  parts.push_back(equals_prediction(wide, predicted(wide), "the same at D = 128, causal, S = 300"));
  parts.push_back(still_right(one, "up to 64 keys, where no product is under way"));
  parts.push_back(still_right(lucky, "if a product is over as soon as it is issued"));
  return parts;
}
