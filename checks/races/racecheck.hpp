// The findings and failures of many launches under the checker, and the report of them.
#pragma once
#include <map>
#include <set>
#include <string>

#include "checks/bugs/trial.hpp"

namespace lab {

class Told {
 public:
  // `failure` is what is said of a launch that is not ok.
  void add(const Observed& launch, Schedule schedule, const std::string& failure);
  // Prints each finding once, with the schedules and shapes under which it was seen, and each failure; `first_only`: no
  // more than the first. The last line is the count, and `how` in parentheses. The exit status.
  int report(const char* stage, const std::string& how, bool first_only = false) const;

 private:
  struct Seen {
    Finding finding;
    std::set<std::string> schedules, shapes;
  };
  std::map<Finding::Key, Seen> all_;
  std::map<std::string, std::string> failures_;  // what is said -> what the launch waits for, if it hung
  std::set<std::string> told_hangs_;
  bool refused_ = false;
  int launches_ = 0;
};

}  // namespace lab
