// The common properties of the red cases of a run, in words: often the first hint at a cause.
#pragma once
#include <string>
#include <vector>

#include "checks/acceptance/cases.hpp"

namespace lab {

struct CaseOutcome {
  Case test;
  bool green = false;
};

// "only causal cases, and all 21 of them", "only D = 128 (12 of 30)", "all 75 cases"; "" where nothing is red, or where
// what is red has no such thing in common. Quick runs stop early: what they ran is all that is spoken of.
std::string red_pattern(const std::vector<CaseOutcome>& outcomes);

}  // namespace lab
