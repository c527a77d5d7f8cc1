// How to recognise the bug keys_of_another_tile.
#include "checks/bugs/signature.hpp"
#include "common/block_order.hpp"
#include "reference/wrong_answers.hpp"

using namespace lab;

// Few pieces of 64 rows, and more of them than multiprocessors, both in an order over all heads.
constexpr Shape MISSION{1, 8, 512, 64, true}, MANY{8, 12, 300, 64, true}, WIDE_RAGGED{2, 1, 300, 128, true};

std::vector<Part> look() {
  const Trial t = run_trial(MISSION), many = run_trial(MANY), wide = run_trial(WIDE_RAGGED);
  const auto predicted = [](const Trial& x) {
    return wrong::keys_of_another_tile(x, plan_of(x.shape).tile_m, plan_of(x.shape).tile_n, block_over_all_heads);
  };
  return {
      equals_prediction(t, predicted(t),
                        "attention over the keys of the tiles that cover (x + 1) M, x the piece's place in its head"),
      equals_prediction(many, predicted(many), "the same with more pieces"),
      equals_prediction(wide, predicted(wide), "the same at D = 128, S = 300")};
}
