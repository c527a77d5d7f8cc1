// Predictions, held against what the kernel as it was handed out really does.
#pragma once
#include <string>

#include "checks/desk/learn/exercise.hpp"

namespace lab::desk {

struct Prediction {
  bool holds = false;
  std::string says;          // what was measured, and the difference, in lines
  int right = 0, asked = 1;  // the right part of it: the only feedback before it holds
};

// Throws BadInput for what is no rule, formula or count. `built_as`: the word of a build of what was handed out that is up
// to date; "": it is built.
Prediction judge_prediction(const Exercise& exercise, const std::string& make, const std::string& say,
                            const std::string& built_as = "");

// The measured result is shown once a prediction is right, or given up.
std::string verdict_told(const Prediction& prediction, bool gave_up);

// The possible predictions, shown when none is given.
std::string prediction_asked(const Exercise& exercise);

// The meaning of the names on the menu, a line each: printed by a learner's binary, which computes them.
// "" where there is no menu.
std::string menu_explained(const Exercise& exercise, const std::string& make);

// Of a prediction of counts: what is measured, as it would be typed.
std::string counted(const Exercise& exercise, const std::string& make);

// A prediction as the exercise's file has it, as a learner would type it: pieces of lines become their numbers in what
// was handed out.
std::string as_typed(const Exercise& exercise, const std::string& prediction);

}  // namespace lab::desk
