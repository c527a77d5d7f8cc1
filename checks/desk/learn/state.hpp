// A learner's progress, in work/state.json.
#pragma once
#include <map>
#include <string>
#include <vector>

namespace lab::desk {

// A prediction, as it was typed.
struct Attempt {
  std::string say;
  bool right = false;
  bool late = false;  // made when the kernel had passed, or its solution was shown
};

struct Progress {
  int hints = 0, tries = 0, predictions = 0;
  bool predicted = false;       // rightly
  bool done = false;            // it has passed
  bool gave_up = false;         // the solution was shown before that
  std::string prediction = {};  // the last right one
  std::vector<Attempt> attempts = {};
};

class State {
 public:
  // A file that cannot be read as a whole, such as one that a full disk cut short, is put aside, and `trouble` says so.
  explicit State(const std::string& path = "work/state.json");
  Progress& of(const std::string& number) { return all_[number]; }
  const Progress& seen(const std::string& number) const;
  void save() const;  // as a whole or not at all
  std::string trouble;

 private:
  std::string path_;
  std::map<std::string, Progress> all_;
};

}  // namespace lab::desk
