// How to recognise the bug tma_box_clipped.
#include "checks/bugs/signature.hpp"
#include "reference/wrong_answers.hpp"

using namespace lab;

constexpr Shape RAGGED{1, 2, 70, 64, false}, ONE_KEY_MORE{2, 1, 65, 128, false}, WHOLE{1, 8, 512, 64, false},
    CAUSAL{1, 1, 200, 64, true};

std::vector<Part> look() {
  std::vector<Part> parts;
  for (const Shape& shape : {RAGGED, ONE_KEY_MORE}) {
    const Trial t = run_trial(shape);
    const int zeros = (plan_of(t.shape).tile_n - shape.S % plan_of(t.shape).tile_n) % plan_of(t.shape).tile_n;
    parts.push_back(equals_prediction(t, wrong::tma_box_clipped(t, plan_of(t.shape).tile_n),
                                      "attention over " + std::to_string(zeros) +
                                          " more keys, which are zero: right Z / (Z + " + std::to_string(zeros) + ")"));
  }
  for (const auto& [shape, why] :
       {std::pair(WHOLE, "where S is a multiple of 64"), std::pair(CAUSAL, "under a mask")}) {
    const Trial t = run_trial(shape);
    parts.push_back(still_right(t, why));
  }
  return parts;
}
