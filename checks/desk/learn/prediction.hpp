// Predictions, held against what the kernel as it was handed out really does.
#pragma once
#include <string>

#include "checks/desk/learn/exercise.hpp"

namespace lab::desk {

struct Prediction {
  bool holds = false;
  std::string says;          // what was measured, and the difference, in lines
  int right = 0, asked = 1;  // how much of it is right: all that is told before it holds
};

// Throws BadInput for what is no rule, formula or count. `built_as`: the word of a build of what was handed out that is up
// to date; "": it is built.
Prediction judge_prediction(const Exercise& exercise, const std::string& make, const std::string& say,
                            const std::string& built_as = "");

// What was measured is told once a prediction is right, or given up.
std::string verdict_told(const Prediction& prediction, bool gave_up);

// What may be said, for one who says nothing.
std::string prediction_asked(const Exercise& exercise);

// What the names on the menu stand for, a line each: said by a learner's binary, which computes them. "" where there is
// no menu.
std::string menu_explained(const Exercise& exercise, const std::string& make);

// A prediction as the exercise's file has it, as a learner would type it: pieces of lines become their numbers in what
// was handed out.
std::string as_typed(const Exercise& exercise, const std::string& prediction);

}  // namespace lab::desk
