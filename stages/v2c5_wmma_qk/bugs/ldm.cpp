// How to recognise the bug ldm.
#include "checks/bugs/signature.hpp"
#include "reference/wrong_answers.hpp"

using namespace lab;

constexpr Shape MISSION{1, 8, 512, 64, false};

std::vector<Part> look() {
  const Trial t = run_trial(MISSION), wide = run_trial({1, 1, 200, 128, true});
  return {equals_prediction(t, wrong::ldm(t), "attention with every 16 x 16 block of K transposed"),
          equals_prediction(wide, wrong::ldm(wide), "the same at D = 128, causal, S = 200")};
}
