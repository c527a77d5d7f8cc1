// How to recognise the bug early_refill.
#include "checks/bugs/signature.hpp"

using namespace lab;

constexpr Shape SMALL{1, 1, 128, 64, false};

std::vector<Part> look() {
  return {checker_reports(
              SMALL, {Finding::Kind::race_inter_warp, "wmma::load_matrix_sync(b, &K[", "__pipeline_memcpy_async(&to["}),
          schedules_differ(SMALL)};
}
