// How to recognise the bug prefetch_overwrites.
#include "checks/bugs/signature.hpp"

using namespace lab;

constexpr Shape SMALL{1, 1, 512, 64, false};

std::vector<Part> look() {
  return {checker_reports(SMALL, {Finding::Kind::race_inter_warp, "ptx::ldmatrix_x4(b[0], b[1], swizzled(K",
                                  "__pipeline_memcpy_async(place + n * D, from + n"}),
          checker_reports(SMALL, {Finding::Kind::race_inter_warp, "ptx::ldmatrix_x4_trans(b[0], b[1], swizzled(V",
                                  "__pipeline_memcpy_async(place + n * D, from + n"}),
          schedules_differ(SMALL)};
}
