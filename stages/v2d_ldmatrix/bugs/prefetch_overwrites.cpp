// How to recognise the bug prefetch_overwrites.
#include "checks/bugs/signature.hpp"

namespace {
using namespace lab;

constexpr Shape SMALL{1, 1, 512, 64, false};

std::vector<Part> look() {
  return {checker_reports(SMALL, {Finding::Kind::race_inter_warp, "ptx::ldmatrix_x4(b0, b1, &sK", "THREADS>(smem.sK"}),
          checker_reports(SMALL,
                          {Finding::Kind::race_inter_warp, "ptx::ldmatrix_x4_trans(b0, b1, &sV", "THREADS>(smem.sV"}),
          schedules_differ(SMALL)};
}

const RegisteredSignature registered(look);

}  // namespace
