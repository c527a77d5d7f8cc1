// How to recognise the bug qk_not_transposed.
#include "checks/bugs/signature.hpp"
#include "reference/wrong_answers.hpp"

using namespace lab;

constexpr Shape MISSION{1, 8, 512, 64, false};

std::vector<Part> look() {
  const Trial t = run_trial(MISSION);
  return {equals_prediction(t, wrong::qk_not_transposed(t, plan_of(t.shape).tile_n),
                            "softmax(scale Q K_tile) V, the tile multiplied as it lies")};
}
