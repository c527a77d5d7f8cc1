// How to recognise the bug turn_passed_late.
#include "checks/bugs/signature.hpp"
#include "reference/attention.hpp"

namespace {
using namespace lab;

constexpr Shape MISSION{1, 8, 512, 64, false}, SMALL{1, 1, 512, 64, false}, WIDE{1, 1, 512, 128, false};

std::vector<Part> look() {
  // With the bug a wait has the other group's 64 exponentials in it: four tiles are eight waits, and all but the first
  // are so long, 56 in the mean. Without it a wait is at most for the other's products to be issued: 16 instructions of
  // wgmma (12 at D = 64) and the few around them, and only while both groups are in step. The bound is far from both.
  const ExpectedCount long_wait{
      Counted::named_barrier, "const auto wait_for_turn", &Tally::waited, 32, "steps waited", true};
  const Trial t = run_trial(MISSION);
  return {counted(SMALL, long_wait), counted(WIDE, long_wait),
          right_by_luck(t, attention(t.shape, t.scale, t.in.q, t.in.k, t.in.v), "whoever waits for whom")};
}

const RegisteredSignature registered(look);

}  // namespace
