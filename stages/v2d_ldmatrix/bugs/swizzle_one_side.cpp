// How to recognise the bug swizzle_one_side.
#include "checks/bugs/signature.hpp"
#include "reference/wrong_answers.hpp"

using namespace lab;

constexpr Shape MISSION{1, 8, 512, 64, false};
constexpr Shape WIDE_RAGGED{1, 1, 200, 128, true};

std::vector<Part> look() {
  const Trial t = run_trial(MISSION), wide = run_trial(WIDE_RAGGED);
  return {
      equals_prediction(t, wrong::swizzle_one_side(t), "attention with the chunks of every key permuted by its row"),
      equals_prediction(wide, wrong::swizzle_one_side(wide), "the same at D = 128, causal, S = 200")};
}
