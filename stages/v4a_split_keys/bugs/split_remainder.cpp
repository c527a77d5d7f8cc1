// How to recognise the bug split_remainder.
#include <algorithm>

#include "checks/bugs/signature.hpp"
#include "reference/attention.hpp"
#include "reference/wrong_answers.hpp"

using namespace lab;

constexpr int TILE = 64;  // queries, and keys
constexpr Shape RAGGED{1, 2, 300, 64, false}, CAUSAL{1, 2, 512, 128, true}, ONE_TILE{1, 2, 64, 64, false},
    MISSION{1, 8, 512, 64, false};

// Tiles of keys that the query tile of this row sees.
int tiles(const Shape& shape, int row) { return shape.causal ? row / TILE + 1 : (shape.S - 1) / TILE + 1; }

std::vector<Part> look() {
  const auto none_left = [](int row, int) { return row < TILE; };
  const auto some_left = [](int row, int) { return row >= TILE; };
  const auto predicted = [](const Trial& t) {
    return wrong::other_mask(t, [&](int row) {
      const int keys = tiles(t.shape, row) / 2 * 2 * TILE;
      // Rows with none are looked at for themselves.
      return std::min(visible_keys(t.shape, row), keys > 0 ? keys : TILE);
    });
  };
  const Trial ragged = run_trial(RAGGED), causal = run_trial(CAUSAL), one = run_trial(ONE_TILE),
              even = run_trial(MISSION);
  return {equals_prediction(ragged, predicted(ragged), "attention over keys 0 to 255 of 300"),
          equals_prediction(causal, predicted(causal),
                            "causal attention without the tile on the diagonal, in every other query tile", some_left),
          nan_exactly(causal, none_left, "the row is one of the first 64, whose only tile is dropped"),
          nan_exactly(one, everywhere, "there is but one tile of keys: everywhere"),
          still_right(even, "where the number of tiles is even")};
}
