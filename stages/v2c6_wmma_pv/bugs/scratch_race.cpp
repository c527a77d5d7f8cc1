// How to recognise the bug scratch_race.
#include "checks/bugs/signature.hpp"

using namespace lab;

constexpr Shape SMALL{1, 1, 128, 64, false};

std::vector<Part> look() {
  return {checker_reports(SMALL, {Finding::Kind::race_intra_warp, "wmma::store_matrix_sync(&smem.scratch",
                                  "? scores[32 * j + lane] * scale"})};
}
