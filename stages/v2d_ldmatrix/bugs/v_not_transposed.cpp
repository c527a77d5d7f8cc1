// How to recognise the bug v_not_transposed.
#include "checks/bugs/signature.hpp"
#include "reference/wrong_answers.hpp"

using namespace lab;

constexpr Shape MISSION{1, 8, 512, 64, false};
constexpr Shape WIDE_RAGGED{1, 1, 200, 128, true};

std::vector<Part> look() {
  const Trial t = run_trial(MISSION), wide = run_trial(WIDE_RAGGED);
  return {equals_prediction(t, wrong::v_not_transposed(t), "attention with every 8 x 8 block of V transposed"),
          equals_prediction(wide, wrong::v_not_transposed(wide), "the same at D = 128, causal, S = 200")};
}
