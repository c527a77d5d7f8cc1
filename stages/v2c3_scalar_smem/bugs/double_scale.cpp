// How to recognise the bug double_scale.
#include "checks/bugs/signature.hpp"
#include "reference/wrong_answers.hpp"

using namespace lab;

constexpr Shape MISSION{1, 8, 512, 64, false};

std::vector<Part> look() {
  const Trial t = run_trial(MISSION);
  return {equals_prediction(t, wrong::double_scale(t), "softmax(scale^2 Q K^T) V")};
}
