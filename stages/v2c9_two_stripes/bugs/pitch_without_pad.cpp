// How to recognise the bug pitch_without_pad.
#include "checks/bugs/signature.hpp"

using namespace lab;

constexpr Shape MISSION{1, 8, 512, 64, false}, SMALL{1, 1, 128, 64, false}, WIDE{1, 1, 128, 128, false};

// Each piece is a load of its own in the source: two of 4 bytes for K, four of 2 bytes for V.
ExpectedCount turns(const char* piece, double each) {
  return {Counted::shared_load, piece, &Tally::wavefronts, each, "cycles at the banks"};
}

std::vector<Part> look() {
  const ExpectedCount q = turns("a[j] = half_pair_at(&smem.Q", 8), k = turns("{half_pair_at(column), half", 8),
                      v = turns("{half_pair(smem.V[key][column]", 4);
  const Trial t = run_trial(MISSION);
  return {counted(SMALL, k), counted(SMALL, v), counted(SMALL, q),
          counted(WIDE, k),  counted(WIDE, v),  still_right(t, "with either pitch")};
}
