// How to recognise the bug tile_taken_twice.
#include "checks/bugs/signature.hpp"
#include "common/block_order.hpp"
#include "reference/wrong_answers.hpp"

using namespace lab;

constexpr Shape MISSION{1, 8, 512, 64, true}, WIDE_RAGGED{2, 3, 300, 128, true};

std::vector<Part> look() {
  const Trial t = run_trial(MISSION), wide = run_trial(WIDE_RAGGED);
  const auto predicted = [](const Trial& x) {
    return wrong::tile_taken_twice(x, plan_of(x.shape).tile_m, block_over_all_heads);
  };
  return {equals_prediction(t, predicted(t), "attention, NaN as before the launch in the tiles that no piece is"),
          equals_prediction(wide, predicted(wide), "the same at D = 128, S = 300")};
}
