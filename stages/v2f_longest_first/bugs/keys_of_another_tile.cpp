// How to recognise the bug keys_of_another_tile.
#include "checks/bugs/fingerprint.hpp"
#include "reference/wrong_answers.hpp"

namespace {
using namespace lab;

constexpr Shape MISSION{1, 8, 512, 64, true}, WIDE_RAGGED{2, 1, 300, 128, true};

std::vector<Part> look() {
  const Trial t = run_trial(MISSION), wide = run_trial(WIDE_RAGGED);
  const auto predicted = [](const Trial& x) {
    return wrong::keys_of_another_tile(x.shape, x.scale, x.in.q, x.in.k, x.in.v, x.plan.tile_m);
  };
  return {equals_prediction(t, predicted(t), "attention over the first min(i + 1, (T - t) M) keys"),
          equals_prediction(wide, predicted(wide), "the same at D = 128, S = 300")};
}

const RegisteredFingerprint registered(look);

}  // namespace
