// How to recognise the bug scale_d_left_one.
#include "checks/bugs/signature.hpp"
#include "reference/wrong_answers.hpp"

using namespace lab;

constexpr int TILE_N = 64;
constexpr Shape MISSION{1, 8, 512, 64, false}, RAGGED{1, 8, 300, 64, false}, ONE_TILE{1, 2, 64, 64, true};

std::vector<Part> look() {
  // A weight is at most 1: beside the scores of scale 1/8 it is small, beside those of scale 1 it is not.
  const auto at_scale_1 = [](const Shape& shape) { return run_trial(shape, Family::unit, {}, 1, 1.0); };
  const Trial t = at_scale_1(MISSION), ragged = at_scale_1(RAGGED), one = run_trial(ONE_TILE);
  const auto predicted = [](const Trial& x) { return wrong::scale_d_left_one(x, TILE_N); };
  return {equals_prediction(t, predicted(t), "attention with the last tile's weights added to this one's scores"),
          equals_prediction(ragged, predicted(ragged), "the same at S = 300"),
          still_right(one, "up to 64 keys, where no tile comes before")};
}
