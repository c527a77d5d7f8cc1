// Wrong answers to choose from, under names that are no bug's: what a learner may predict of a kernel's output.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "checks/bugs/trial.hpp"

namespace lab {

struct Formula {
  const char* name;
  const char* says;                                    // in one line
  std::vector<double> (*compute)(const Trial& trial);  // [B, H, S, D]; may throw BadInput: not of this shape
};
std::span<const Formula> formulas();
// Throws BadInput with the names.
const Formula& formula_named(const std::string& name);

}  // namespace lab
