// How to recognise the bug p_halves_swapped.
#include "checks/bugs/signature.hpp"
#include "reference/wrong_answers.hpp"

using namespace lab;

constexpr Shape MISSION{1, 8, 512, 64, false};

std::vector<Part> look() {
  const Trial t = run_trial(MISSION), wide = run_trial({1, 1, 200, 128, true});
  return {equals_prediction(t, wrong::p_halves_swapped(t), "attention with V'[n] = V[n xor 8]"),
          equals_prediction(wide, wrong::p_halves_swapped(wide), "the same at D = 128, causal, S = 200")};
}
