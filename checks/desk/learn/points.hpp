// What was handed in, judged: a table for people, and the results.json that Gradescope's autograder reads.
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

struct Graded {
  std::string number, name, kind;
  bool passed = false;
  std::string step = {}, says = {};          // of what is red
  bool predicts = false, predicted = false;  // a prediction is asked for; the first was judged again, and holds
  int hints = 0;
  std::string attempts = {};  // of the prediction, in words: "2 of 3"
  std::string gpu = {};       // of what passed: where a GPU differs
  std::string flags = {};     // what a person should look at
  int tries = 0;
  bool gave_up = false;
  std::vector<Answer> answers = {};  // to the card's questions
  double points() const;
  static constexpr double MOST = 10, OF_PREDICTION = 2;  // the rest is the kernel's
  double most() const { return MOST; }
};

std::string grades_table(const std::vector<Graded>& all);
// What was written to the cards' questions, for a person to grade; "" where no card asks.
std::string answers_text(const std::vector<Graded>& all);
// https://gradescope-autograders.readthedocs.io/en/latest/specs/#output-format
std::string gradescope_json(const std::vector<Graded>& all, unsigned long long seed, double seconds);

// The seed= of a grading or of variants; of "" any. Throws BadInput.
std::uint64_t seed_of(const std::string& text);

}  // namespace lab::desk
