// What a learner has done, in work/state.json.
#pragma once
#include <map>
#include <string>

namespace lab::desk {

struct Progress {
  int hints = 0, tries = 0, predictions = 0;
  bool predicted = false;       // rightly
  bool done = false;            // it has passed
  bool gave_up = false;         // the solution was shown before that
  std::string prediction = {};  // the last right one, for make grade to judge again
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
