// How to recognise the bug all_masked_tile.
#include <algorithm>

#include "checks/bugs/signature.hpp"

using namespace lab;

// The first key of the tile that the row's block begins with, from the end.
int first_tile(const Trial& t, int row) {
  const int block = row / plan_of(t.shape).tile_m * plan_of(t.shape).tile_m,
            keys = std::min(t.shape.S, block + plan_of(t.shape).tile_m);
  return (keys - 1) / plan_of(t.shape).tile_n * plan_of(t.shape).tile_n;
}

std::vector<Part> look() {
  const Trial t = run_trial({1, 8, 512, 64, true}), wide = run_trial({1, 2, 200, 128, true});
  const auto empty_in = [](const Trial& x) { return [&x](int row, int) { return row < first_tile(x, row); }; };
  return {nan_exactly(t, empty_in(t), "row < first key of its block's last tile: row mod 128 < 64, half of the output"),
          nan_exactly(wide, empty_in(wide), "the same at D = 128, S = 200, tiles of 32 keys: rows 0..95 and 128..191")};
}
