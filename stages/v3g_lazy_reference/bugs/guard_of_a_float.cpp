// How to recognise the bug guard_of_a_float.
#include "checks/bugs/signature.hpp"
#include "reference/wrong_answers.hpp"

using namespace lab;

constexpr Shape MISSION{1, 8, 512, 64, false}, WIDE_CAUSAL{1, 2, 300, 128, true};

std::vector<Part> look() {
  const Trial t = run_trial(MISSION, Family::peaked), wide = run_trial(WIDE_CAUSAL, Family::peaked);
  const auto predicted = [](const Trial& x) { return wrong::guard_of_a_float(x, plan_of(x.shape).tile_n); };
  return {equals_prediction(t, predicted(t), "attention, with Inf for every weight past 65520 times the first tile's"),
          equals_prediction(wide, predicted(wide), "the same at D = 128, causal, S = 300")};
}
