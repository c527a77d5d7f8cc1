// How to recognise the bug uncounted_group.
#include "checks/bugs/signature.hpp"

using namespace lab;

constexpr Shape SMALL{1, 1, 128, 64, false};

std::vector<Part> look() {
  return {checker_reports(
              SMALL, {Finding::Kind::before_wait, "__pipeline_memcpy_async(&to[", "wmma::load_matrix_sync(b, &V["}),
          schedules_differ(SMALL)};
}
