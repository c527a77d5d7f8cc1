// How to recognise the bug proxy_fence_missing.
#include "checks/bugs/signature.hpp"

using namespace lab;

constexpr Shape SMALL{1, 1, 200, 64, false}, WIDE{1, 1, 100, 128, true};

std::vector<Part> look() {
  // Each lane copies 16 bytes, and any of them is read.
  const ExpectedReport unfenced{Finding::Kind::proxy, "copy8(swizzled(smem.Q", "ptx::wgmma<ptx::K_MAJOR>(s,"};
  std::vector<Part> parts = {checker_reports(SMALL, unfenced), checker_reports(WIDE, unfenced)};
  if (!can_schedule()) return parts;
  const Trial t = run_trial(SMALL);
  parts.push_back(still_right(t, "where writes of both ways arrive in the order of the barrier"));
  return parts;
}
