// A learner's test: a few cases, each run on every bug of a stage and on the kernels that are right.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "checks/desk/learn/exercise.hpp"

namespace lab::desk {

// The lines of cases.txt that say something: words of `lab fuzz only`. Throws BadInput for more than the budget.
std::vector<std::string> cases_in(const Exercise& exercise, const std::string& text);

// Builds that a test is tried on: the stage's visible bugs, and those that must not alarm it: its kernel, and those
// bugs that turned out to be none. Neutral: a learner sees only their number.
struct Suspect {
  std::string source;
  std::string word;  // of its build
  bool wrong = false;
};
std::vector<Suspect> suspects(const Exercise& exercise);

// "" if the test reaches its goal; else the line that says what it misses or accuses. is_red(suspect, case) runs one.
std::string judge_cases(const Exercise& exercise, const std::vector<std::string>& cases,
                        const std::vector<Suspect>& all,
                        const std::function<bool(const Suspect&, const std::string&)>& is_red);

}  // namespace lab::desk
