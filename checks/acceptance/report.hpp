// The output of `test`: a line for each group of cases, or with verbose=1 their table; the first red cases with enough to act
// on; progress, and the count.
#pragma once
#include <chrono>
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "checks/acceptance/case_run.hpp"
#include "checks/acceptance/format.hpp"
#include "checks/acceptance/pattern.hpp"

namespace lab {

// Says what is running and how long is left: one updating line on a terminal; elsewhere, if asked for and once five seconds have gone by,
// a line for each tenth of it (where a report's own lines come often enough, they are not). A run with a verdict file is a part of another
// program's work, and is silent.
class Progress {
 public:
  Progress(std::size_t cases, double cost, bool plain_lines);  // cases: 0 where time alone ends it
  void start(const std::string& what);
  void finish(double cost);  // of the case that just ended, in the unit of the constructor's total
  void clear();              // takes the updating line away before something else is printed
  double seconds() const;    // since the constructor

 private:
  std::size_t cases_, started_ = 0, tenths_ = 0;
  double cost_, done_ = 0;
  bool terminal_, plain_lines_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

class Report {
 public:
  Report(const Subject& subject, const AcceptanceOptions& options, std::size_t cases);  // prints the first line
  void add(const CaseResult& result);
  void close_group();
  // Of what is held beside the cases: red lines, or the line that says it; `counts`: as a case does.
  void held(const std::string& what, const std::vector<std::string>& red, bool counts);
  void finish();  // the summary, and alone on the last line `N passed, M failed`
  std::size_t passed() const { return passed_; }
  std::size_t failed() const { return failed_; }

 private:
  void open_group(Group group);
  void print_row(const CaseResult& result);
  void print_failure(const CaseResult& result);

  const Subject& subject_;
  AcceptanceOptions options_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::size_t passed_ = 0, failed_ = 0, skipped_ = 0, detailed_ = 0;
  std::optional<Group> group_;                      // whose cases come
  std::size_t green_ = 0, seen_ = 0, not_run_ = 0;  // of that group
  std::set<std::string> why_not_run_;               // each is said once; verbose=1 says it of each case
  double worst_ = 0;
  std::vector<CaseOutcome> outcomes_;
};

}  // namespace lab
