// How to recognise the bug ldmatrix_row_address.
#include "checks/bugs/signature.hpp"
#include "reference/wrong_answers.hpp"

using namespace lab;

constexpr Shape MISSION{1, 8, 512, 64, false};
constexpr Shape WIDE_RAGGED{1, 1, 200, 128, true};

std::vector<Part> look() {
  const Trial t = run_trial(MISSION), wide = run_trial(WIDE_RAGGED);
  return {equals_prediction(t, wrong::ldmatrix_row_address(t),
                            "attention with K[n0][k0 + k mod 8] in place of every 16 x 16 block of K"),
          equals_prediction(wide, wrong::ldmatrix_row_address(wide), "the same at D = 128, causal, S = 200")};
}
