// How to recognise the bug row_plus_8.
#include "checks/bugs/signature.hpp"
#include "reference/wrong_answers.hpp"

using namespace lab;

constexpr Shape MISSION{1, 8, 512, 64, false};

std::vector<Part> look() {
  const Trial t = run_trial(MISSION), wide = run_trial({1, 1, 200, 128, false});
  return {equals_prediction(t, wrong::row_plus_8(t),
                            "right[r] Z[r] / Z[r - 8] where r mod 16 >= 8, with Z[r] = sum of exp(s[r])"),
          equals_prediction(wide, wrong::row_plus_8(wide), "the same at D = 128, S = 200")};
}
