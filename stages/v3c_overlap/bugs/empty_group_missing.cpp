// How to recognise the bug empty_group_missing.
#include <algorithm>

#include "checks/bugs/fingerprint.hpp"
#include "reference/attention.hpp"
#include "reference/wrong_answers.hpp"

namespace {
using namespace lab;

constexpr int TILE = 64;  // queries, and keys
constexpr Shape CAUSAL{1, 8, 512, 64, true}, WIDE_RAGGED{1, 1, 200, 128, true}, DENSE{1, 2, 256, 64, false};

std::vector<Part> look() {
  std::vector<Part> parts = {
      checker_reports(CAUSAL, {Finding::Kind::changed_before_wait, "ptx::wgmma<N>(s,", "hide_keys(s,"}),
      schedules_differ(WIDE_RAGGED)};
  if (!can_schedule()) return parts;
  const auto predicted = [](const Trial& t) {
    return wrong::other_mask(t.shape, t.scale, t.in.q, t.in.k, t.in.v, [](int row) { return std::max(row + 1, TILE); });
  };
  const auto right = [](const Trial& t) { return attention(t.shape, t.scale, t.in.q, t.in.k, t.in.v); };
  ExecOptions early;
  early.products = Copies::at_issue;
  const Trial late = run_trial(CAUSAL), wide = run_trial(WIDE_RAGGED), lucky = run_trial(CAUSAL, Family::unit, early),
              dense = run_trial(DENSE);
  parts.push_back(equals_prediction(late, predicted(late), "attention in which rows 0 to 63 see keys 0 to 63"));
  parts.push_back(equals_prediction(wide, predicted(wide), "the same at D = 128, S = 200"));
  parts.push_back(right_by_luck(dense, right(dense), "where tile 0 has nothing to hide"));
  parts.push_back(right_by_luck(lucky, right(lucky), "if a product is over as soon as it is issued"));
  return parts;
}

const RegisteredFingerprint registered(look);

}  // namespace
