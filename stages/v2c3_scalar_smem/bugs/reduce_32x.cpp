// How to recognise the bug reduce_32x.
#include "checks/bugs/signature.hpp"
#include "reference/wrong_answers.hpp"

using namespace lab;

constexpr Shape MISSION{1, 8, 512, 64, false};

std::vector<Part> look() {
  const Trial t = run_trial(MISSION);
  return {equals_prediction(t, wrong::reduce_32x(t), "the right answer / 32")};
}
