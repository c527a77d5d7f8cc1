// How to recognise the bug quad_reduce.
#include "checks/bugs/signature.hpp"
#include "reference/wrong_answers.hpp"

using namespace lab;

constexpr Shape MISSION{1, 8, 512, 64, false};

std::vector<Part> look() {
  const Trial t = run_trial(MISSION), wide = run_trial({1, 1, 201, 128, true});
  return {
      equals_prediction(t, wrong::quad_reduce(t), "right[r] Z[r] / (Z[r] + Z[r xor 1]), with Z[r] = sum of exp(s[r])"),
      equals_prediction(wide, wrong::quad_reduce(wide),
                        "the same at D = 128, causal, S = 201, where row 200 shares with an empty one")};
}
