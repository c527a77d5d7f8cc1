// How to recognise the bug turn_passed_late.
#include "checks/bugs/signature.hpp"

using namespace lab;

constexpr Shape MISSION{1, 8, 512, 64, false}, SMALL{1, 1, 512, 64, false}, WIDE{1, 1, 512, 128, false};

std::vector<Part> look() {
  // With the bug a wait has the other groups' exponentials in it: 64 of one group at D = 128, 32 of each of three at
  // D = 64. All waits but the first are so long. Without it a wait is at most for the others' Q K to be issued: 8
  // instructions of wgmma (4 at D = 64) and the few around them. The bound is far from both.
  const ExpectedCount long_wait{
      Counted::named_barrier, "const auto wait_for_turn", &Tally::waited, 32, "steps waited", true};
  const Trial t = run_trial(MISSION);
  return {counted(SMALL, long_wait), counted(WIDE, long_wait), still_right(t, "whoever waits for whom")};
}
