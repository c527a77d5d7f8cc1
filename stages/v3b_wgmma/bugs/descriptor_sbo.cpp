// How to recognise the bug descriptor_sbo.
#include "checks/bugs/signature.hpp"
#include "reference/wrong_answers.hpp"

using namespace lab;

constexpr int TILE_N = 64;
constexpr Shape MISSION{1, 8, 512, 64, false}, WIDE_RAGGED{1, 1, 200, 128, true};

std::vector<Part> look() {
  const Trial t = run_trial(MISSION), wide = run_trial(WIDE_RAGGED);
  const auto predicted = [](const Trial& x) { return wrong::strides_exchanged(x, TILE_N); };
  return {equals_prediction(t, predicted(t), "attention with key 8 i + j read from column 8 i of the tile's row j on"),
          equals_prediction(wide, predicted(wide), "the same at D = 128, causal, S = 200")};
}
