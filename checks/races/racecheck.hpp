// The findings and failures of many launches under the checker, and the report of them.
#pragma once
#include <map>
#include <set>
#include <span>
#include <string>

#include "checks/acceptance/launch.hpp"

namespace lab {

class RaceReport {
 public:
  void add(const Ran& launch, Schedule schedule);
  bool red() const { return !all_.empty() || !failures_.empty(); }
  // Prints each finding once, with the schedules and shapes under which it was seen, and each failure. The last line is the
  // count, and `how` in parentheses. The exit status.
  int finish(const std::string& how) const;

 private:
  struct Seen {
    Finding finding;
    std::set<std::string> schedules, shapes;
  };
  std::map<Finding::Key, Seen> all_;
  std::map<std::string, std::string> failures_;  // what is said -> what the launch waits for, if it hung
  std::set<std::string> hangs_;                  // of findings
  bool refused_ = false;
  int launches_ = 0, failed_ = 0;
};

}  // namespace lab
