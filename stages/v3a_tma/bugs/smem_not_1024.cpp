// How to recognise the bug smem_not_1024.
#include "checks/bugs/signature.hpp"
#include "reference/wrong_answers.hpp"

using namespace lab;

constexpr Shape MISSION{1, 8, 512, 64, false}, WIDE_RAGGED{1, 1, 200, 128, true}, SMALL{1, 1, 128, 64, false};

std::vector<Part> look() {
  const Trial t = run_trial(MISSION), wide = run_trial(WIDE_RAGGED);
  const auto predicted = [](const Trial& x) {
    return wrong::columns_moved(x, [](int row, int col) { return col ^ 8 * (row % 8 ^ (row + 1) % 8); });
  };
  return {equals_prediction(t, predicted(t), "attention with the chunks of Q, K and V read a row off their pattern"),
          equals_prediction(wide, predicted(wide), "the same at D = 128, causal, S = 200"),
          checker_reports(SMALL, {Finding::Kind::misaligned, "", "ptx::tma_load_4d(smem.Q"}),
          checker_reports(SMALL, {Finding::Kind::misaligned, "", "ptx::tma_load_4d(smem.V"})};
}
