// How to recognise the bug swizzle_one_side.
#include "checks/bugs/signature.hpp"
#include "reference/wrong_answers.hpp"

namespace {
using namespace lab;

constexpr Shape MISSION{1, 8, 512, 64, false};
constexpr Shape WIDE_RAGGED{1, 1, 200, 128, true};

std::vector<Part> look() {
  const Trial t = run_trial(MISSION), wide = run_trial(WIDE_RAGGED);
  const auto predicted = [](const Trial& x) {
    return wrong::swizzle_one_side(x.shape, x.scale, x.in.q, x.in.k, x.in.v);
  };
  return {equals_prediction(t, predicted(t), "attention with the chunks of every key permuted by its row"),
          equals_prediction(wide, predicted(wide), "the same at D = 128, causal, S = 200")};
}

const RegisteredSignature registered(look);

}  // namespace
