// How to recognise the bug late_rescale.
#include "checks/bugs/signature.hpp"
#include "reference/wrong_answers.hpp"

using namespace lab;

constexpr Shape MISSION{1, 8, 512, 64, false};

std::vector<Part> look() {
  const Trial t = run_trial(MISSION), wide = run_trial({1, 1, 200, 128, true});
  const auto predicted = [](const Trial& x) { return wrong::late_rescale(x, plan_of(x.shape).tile_n); };
  return {equals_prediction(t, predicted(t), "sum over tiles t of exp(m[t-1] - m[t]) (p V of tile t) / l"),
          equals_prediction(wide, predicted(wide), "the same at D = 128, causal, S = 200")};
}
