// The exercises, found by where they lie: stages/STAGE/bugs/BUG.exercise asks for the mending of that bug,
// stages/STAGE/exercises/NAME.exercise and checks/exercises/NAME.exercise for all else, checks/exercises/drills/ for
// single instructions and mechanisms. No list is kept anywhere.
#pragma once
#include <string>
#include <utility>
#include <vector>

namespace lab::desk {

struct Exercise {
  int n = 0;
  std::string name;      // neutral: says nothing of the answer
  std::string kind;      // fix, hole, predict, test, faster, instruction, mechanism, capstone
  std::string path;      // of the .exercise file
  std::string stage;     // the stage's directory whose kernel is worked on; of a drill "drill-NAME"
  std::string bug = {};  // of kind fix: which
  int minutes = 0;
  std::vector<std::string> after = {};  // pages and exercises to have read or done
  // The prediction: what is asked for, of which launch, what is right, and what nearly is.
  std::string predict = "none", shape = "1,8,512,64", inputs = "unit", copies = "at_wait", seen = "wrong", right = {};
  std::vector<std::string> near = {}, menu = {};
  // Bounds on what a block does (`lab counts`): "1,1,128,64: barriers <= 5".
  std::vector<std::string> limits = {};
  // Half a solution: "STEP: OLD => NEW", pieces of the solution that, written otherwise, must be refused by that step.
  std::vector<std::string> partly = {};
  // The same exercise with another constant: "RIGHT :: OLD => NEW", a piece of the kernel and the prediction that is right then.
  std::vector<std::string> variants = {};
  // A student's own (variant.hpp): lines in front of the kernel, one of `variants`, other names.
  int lead = 0;
  std::pair<std::string, std::string> edit = {};
  std::vector<std::pair<std::string, std::string>> renamed = {};
  // Its stage is one of the backward pass.
  bool backward = false;
  // Of a test: how many cases it may have, and how many planted bugs, less false alarms, it must catch.
  int budget = 0, goal = 0;
  std::string asks = {};     // of a count that no launch shows: what number is asked for
  std::string from = {};     // of a capstone: the stage that it begins with
  std::string symptom = {};  // or the task, where nothing is broken
  std::string gpu = {};      // what a GPU does with a kernel that passes here, where that differs
  std::vector<std::string> questions = {}, hints = {};

  std::string number() const;                                     // "07"
  std::string dir() const { return "work/" + number(); }          // where it is laid out
  std::string file() const { return dir() + "/" + handed_in(); }  // what is worked on
  std::string handed_in() const;                                  // "kernel.cu", "cases.txt"
  bool is_drill() const;  // of kind instruction or mechanism: a kernel of its own, below checks/exercises/drills
  std::string beside(const std::string& ending) const;  // the file beside .exercise with another ending
};

constexpr std::size_t HINTS = 3;

// Throws BadInput, one line that names the file and the line.
Exercise parse_exercise(const std::string& path, const std::string& text);

struct Course {
  std::vector<Exercise> all;  // by n
  // By number (7 or 07) or name. Throws BadInput with the nearest.
  const Exercise& find(const std::string& word) const;
};
// Everything below `root`. Throws BadInput where a file is not as it must be, or two have one number or name.
Course read_course(const std::string& root = ".");

}  // namespace lab::desk
