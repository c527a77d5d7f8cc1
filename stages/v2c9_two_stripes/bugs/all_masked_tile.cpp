// How to recognise the bug all_masked_tile.
#include <algorithm>

#include "checks/bugs/signature.hpp"

using namespace lab;

std::vector<Part> look() {
  const Trial t = run_trial({1, 8, 512, 64, true}), wide = run_trial({1, 2, 200, 128, true});
  // Rows before the first key of the tile that their block begins with, from the end.
  const auto empty_in = [](const Trial& x) {
    return [S = x.shape.S, plan = plan_of(x.shape)](int row, int) {
      const int keys = std::min(S, row / plan.tile_m * plan.tile_m + plan.tile_m);
      return row < (keys - 1) / plan.tile_n * plan.tile_n;
    };
  };
  return {nan_exactly(t, empty_in(t), "row < first key of its block's last tile: row mod 128 < 64, half of the output"),
          nan_exactly(wide, empty_in(wide), "the same at D = 128, S = 200, tiles of 32 keys: rows 0..95 and 128..191")};
}
