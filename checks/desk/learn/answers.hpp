// A learner's answers to a card's questions: laid out as ANSWERS.md beside the kernel, read by a person.
#pragma once
#include <string>
#include <vector>

#include "checks/desk/learn/exercise.hpp"

namespace lab::desk {

struct Answer {
  std::string question, text;  // text is "" where nothing was written
};

std::string answers_file(const Exercise& exercise);   // "work/07/ANSWERS.md"
std::string answers_sheet(const Exercise& exercise);  // what is laid out: the questions; "" if the card has none
// One for each question of the card. A question whose heading is gone has no answer.
std::vector<Answer> answers_in(const Exercise& exercise, const std::string& text);

}  // namespace lab::desk
