// How to recognise the bug expect_tx_missing.
#include "checks/bugs/signature.hpp"

using namespace lab;

constexpr Shape TWO_TILES{1, 1, 128, 64, false}, LONG{1, 1, 512, 64, false};

std::vector<Part> look() {
  std::vector<Part> parts = {hangs(LONG, {.hang = {for_bytes("full[0]", 1, -32768)},
                                          .line = "ptx::mbarrier_wait(smem.full",
                                          .copies = {Copies::at_issue}}),
                             checker_reports(TWO_TILES, {Finding::Kind::before_phase, "ptx::tma_load_4d(smem.K",
                                                         "ptx::ldmatrix_x4(b[0], b[1], swizzled(K"})};
  if (!can_schedule()) return parts;
  ExecOptions late;
  late.copies = Copies::at_wait;
  for (const Shape& shape : {TWO_TILES, LONG})
    parts.push_back(nan_exactly(run_trial(shape, Family::unit, late), everywhere,
                                "no wait is for a copy: all slots are read as they were found, NaN"));
  return parts;
}
