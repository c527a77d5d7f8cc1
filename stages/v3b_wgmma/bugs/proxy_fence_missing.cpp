// How to recognise the bug proxy_fence_missing.
#include "checks/bugs/signature.hpp"
#include "reference/attention.hpp"

namespace {
using namespace lab;

constexpr Shape SMALL{1, 1, 200, 64, false}, WIDE{1, 1, 100, 128, true};
constexpr double NEGATIVE = -0.125;

std::vector<Part> look() {
  // Each lane turns 16 bytes round, and any of them is read.
  const ExpectedReport unfenced{Finding::Kind::proxy, "flip_signs<", "ptx::wgmma<N>(s,", NEGATIVE};
  std::vector<Part> parts = {checker_reports(SMALL, unfenced), checker_reports(WIDE, unfenced)};
  if (!can_schedule()) return parts;
  const Trial t = run_trial(SMALL, Family::unit, {}, 1, NEGATIVE);
  parts.push_back(right_by_luck(t, attention(t.shape, t.scale, t.in.q, t.in.k, t.in.v),
                                "where writes of both ways arrive in the order of the barrier"));
  return parts;
}

const RegisteredSignature registered(look);

}  // namespace
