// How to recognise the bug freed_before_syncwarp.
#include "checks/bugs/signature.hpp"

using namespace lab;

constexpr Shape ONE_MORE{1, 1, 256, 64, false};  // tile than the ring has slots

std::vector<Part> look() {
  const Trial t = run_trial(ONE_MORE);
  return {checker_reports(
              ONE_MORE,
              {Finding::Kind::race_inter_warp, "ptx::ldmatrix_x4(b[0], b[1], swizzled(K", "ptx::tma_load_4d(smem.K"},
              Under::some),
          checker_reports(
              ONE_MORE,
              {Finding::Kind::race_intra_warp, "ptx::ldmatrix_x4(b[0], b[1], swizzled(K", "ptx::tma_load_4d(smem.K"},
              Under::some),
          still_right(t, "all the same")};
}
