// How to recognise the bug swizzle_mismatch.
#include "checks/bugs/signature.hpp"
#include "reference/wrong_answers.hpp"

using namespace lab;

constexpr Shape MISSION{1, 8, 512, 64, false}, WIDE_RAGGED{1, 1, 200, 128, true};

std::vector<Part> look() {
  const Trial t = run_trial(MISSION), wide = run_trial(WIDE_RAGGED);
  const auto predicted = [](const Trial& x) {
    return wrong::columns_moved(x, [](int row, int col) { return row % 8 < 4 ? col : col ^ 32; });
  };
  return {equals_prediction(t, predicted(t),
                            "attention with the halves of Q, K and V exchanged in every second four of their rows"),
          equals_prediction(wide, predicted(wide), "the same of every 64 columns at D = 128, causal, S = 200")};
}
