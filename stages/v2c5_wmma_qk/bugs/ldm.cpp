// How to recognise the bug ldm.
#include "checks/bugs/signature.hpp"
#include "reference/wrong_answers.hpp"

namespace {
using namespace lab;

constexpr Shape MISSION{1, 8, 512, 64, false};

std::vector<Part> look() {
  const Trial t = run_trial(MISSION), wide = run_trial({1, 1, 200, 128, true});
  const auto predicted = [](const Trial& x) { return wrong::ldm(x.shape, x.scale, x.in.q, x.in.k, x.in.v); };
  return {equals_prediction(t, predicted(t), "attention with every 16 x 16 block of K transposed"),
          equals_prediction(wide, predicted(wide), "the same at D = 128, causal, S = 200")};
}

const RegisteredSignature registered(look);

}  // namespace
