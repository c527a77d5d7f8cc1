// Wrong answers to choose from, under names that are no bug's.
#pragma once
#include <functional>
#include <vector>

#include "checks/bugs/trial.hpp"

namespace lab {

struct Formula {
  const char *name, *says;  // in one line
  // What each output would hold, [B, H, S, D]; may throw BadInput: not of this shape.
  std::function<std::vector<std::vector<double>>(const Trial&)> compute;
};
std::vector<Formula> formulas();  // of the pass at hand

}  // namespace lab
