// How to recognise the bug mask_skipped.
#include "checks/bugs/signature.hpp"
#include "reference/wrong_answers.hpp"

using namespace lab;

std::vector<Part> look() {
  const Trial t = run_trial({1, 8, 512, 64, true}), ragged = run_trial({1, 2, 200, 64, true});
  const auto predicted = [](const Trial& x) {
    const int n = plan_of(x.shape).tile_n,
              whole = x.shape.S / n * n;  // a ragged tile at the end is masked all the same
    const auto keys_seen = [=, own = plan_of(x.shape).rows_per_warp](int row) {
      const bool skipped = row / own * own % n != 0 && row < whole;
      return skipped ? row / n * n + n : row + 1;
    };
    return wrong::other_mask(x, keys_seen);
  };
  return {
      equals_prediction(t, predicted(t), "attention where rows 32..63 of each 64 see all 64 keys of their own tile"),
      equals_prediction(ragged, predicted(ragged), "the same at S = 200, but for the rows of the last tile, 192..199")};
}
