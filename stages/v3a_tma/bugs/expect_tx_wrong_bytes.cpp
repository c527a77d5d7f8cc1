// How to recognise the bug expect_tx_wrong_bytes.
#include "checks/bugs/signature.hpp"
#include "reference/wrong_answers.hpp"

using namespace lab;

constexpr Shape RAGGED{1, 1, 200, 64, false}, WIDE{1, 1, 200, 128, true}, WHOLE{1, 8, 512, 64, false};

// The last tile's V is that of the tile that was in its slot before.
std::vector<double> predicted(const Trial& t, int slots) {
  const int N = plan_of(t.shape).tile_n, S = t.shape.S, D = t.shape.D;
  const auto stale = [&](Head& head) {
    for (int n = S / N * N; n < S; ++n)
      std::copy_n(&head.v[std::size_t(n - slots * N) * D], D, &head.v[std::size_t(n) * D]);
  };
  return wrong::attention_after(t, stale);
}

std::vector<Part> look() {
  const Trial whole = run_trial(WHOLE);
  std::vector<Part> parts = {hangs(RAGGED, {.hang = {for_bytes("full[0]", 1, -14336)},
                                            .line = "ptx::mbarrier_wait(smem.full",
                                            .copies = {Copies::at_issue}}),
                             checker_reports(RAGGED, {Finding::Kind::mbarrier, "", "ptx::tma_load_4d(smem.K"}),
                             checker_reports(RAGGED, {Finding::Kind::before_phase, "ptx::tma_load_4d(smem.V",
                                                      "ptx::ldmatrix_x4_trans(b[0], b[1], swizzled(V"}),
                             still_right(whole, "where S is a multiple of 64")};
  if (!can_schedule()) return parts;
  parts.push_back(schedules_differ(RAGGED));
  ExecOptions late;
  late.copies = Copies::at_wait;
  for (const auto& [shape, slots] : {std::pair(RAGGED, 3), std::pair(WIDE, 2)}) {
    const Trial t = run_trial(shape, Family::unit, late);
    parts.push_back(equals_prediction(t, predicted(t, slots),
                                      "attention with V'[n] = V[n - " +
                                          std::to_string(slots * plan_of(t.shape).tile_n) +
                                          "] in the last tile, if a copy lands at the wait for it"));
  }
  return parts;
}
