// How to recognise the bug merge_without_max.
#include "checks/bugs/signature.hpp"
#include "reference/wrong_answers.hpp"

using namespace lab;

constexpr int TILE = 64;  // queries, and keys
constexpr Shape MISSION{1, 8, 512, 64, false}, RAGGED{1, 2, 300, 64, false}, CAUSAL{1, 2, 512, 128, true},
    ONE_TILE{1, 2, 64, 64, true};

std::vector<Part> look() {
  const auto predicted = [](const Trial& t) { return wrong::merge_without_max(t, TILE); };
  const Trial t = run_trial(MISSION), ragged = run_trial(RAGGED), causal = run_trial(CAUSAL), one = run_trial(ONE_TILE);
  return {equals_prediction(t, predicted(t), "attention with each half's weights relative to its own first tile"),
          equals_prediction(ragged, predicted(ragged), "the same of five tiles, of which the first block has three"),
          equals_prediction(causal, predicted(causal), "the same under a mask, at D = 128"),
          still_right(one, "where the second block has no tiles, and adds zeros", predicted(one))};
}
