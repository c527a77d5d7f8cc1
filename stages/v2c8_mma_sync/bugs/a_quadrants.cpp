// How to recognise the bug a_quadrants.
#include "checks/bugs/signature.hpp"
#include "reference/wrong_answers.hpp"

using namespace lab;

constexpr Shape MISSION{1, 8, 512, 64, false};

// Element 16 r + c of a block of weights comes from the other off-diagonal 8x8.
wrong::BlockMap quadrants() {
  wrong::BlockMap map;
  for (int r = 0; r < 16; ++r)
    for (int c = 0; c < 16; ++c) map[16 * r + c] = short((r < 8) == (c < 8) ? 16 * r + c : 16 * (r ^ 8) + (c ^ 8));
  return map;
}

std::vector<Part> look() {
  const Trial t = run_trial(MISSION), wide = run_trial({1, 1, 200, 128, true});
  const auto predicted = [](const Trial& x) {
    return wrong::fragment_layout(x, quadrants(), plan_of(x.shape).tile_m, plan_of(x.shape).tile_n);
  };
  return {equals_prediction(t, predicted(t), "P V with two 8x8 of every 16x16 block of P exchanged"),
          equals_prediction(wide, predicted(wide), "the same at D = 128, causal, S = 200")};
}
