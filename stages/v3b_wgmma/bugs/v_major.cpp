// How to recognise the bug v_major.
#include "checks/bugs/signature.hpp"
#include "reference/wrong_answers.hpp"

using namespace lab;

constexpr int TILE_N = 64;
// Of one tile the second slot is never filled: there is NaN. Behind the second slot the block's memory ends.
constexpr Shape ONE_TILE{1, 8, 64, 64, false}, WIDE_RAGGED{1, 1, 50, 128, true}, TWO_TILES{1, 8, 100, 64, false};

std::vector<Part> look() {
  const Trial t = run_trial(ONE_TILE), wide = run_trial(WIDE_RAGGED);
  const auto predicted = [](const Trial& x) { return wrong::v_major(x, TILE_N); };
  return {equals_prediction(t, predicted(t),
                            "attention with rows of V for columns in columns 0 to 15, and NaN in the rest"),
          equals_prediction(wide, predicted(wide), "the same at D = 128, causal, S = 50: columns 0 to 79, and NaN"),
          fails(run_trial(TWO_TILES), cudaErrorIllegalAddress,
                {"wgmma.mma_async: B, by descriptor", "reads shared address"})};
}
