// What `lab test` prints: the notes' table, failures with enough to act on, progress, the summary.
#pragma once
#include <chrono>
#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "checks/acceptance/acceptance.hpp"
#include "checks/acceptance/format.hpp"
#include "checks/acceptance/pattern.hpp"
#include "checks/acceptance/tiles.hpp"
#include "common/stage.hpp"

namespace lab {

std::string text(const Shape& shape);  // "(1,8,512,64) causal"
std::string text(const Case& test);    // "unit (1,8,512,64) causal, seed 1"
std::string plan_json(const Shape& shape, const LaunchPlan& plan);

// Says what is running and how long is left: one updating line on a terminal, plain lines in a log (full=1
// only: without it the report's own lines come often enough).
class Progress {
 public:
  Progress(std::size_t cases, double cost, bool plain_lines);
  void start(const Case& test);
  void finish(double cost);  // of the case that just ended, in the unit of the constructor's total
  void clear();              // takes the updating line away before something else is printed

 private:
  std::size_t cases_, started_ = 0;
  double cost_, done_ = 0;
  bool terminal_, plain_lines_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

class Report {
 public:
  explicit Report(const AcceptanceOptions& options);
  void add(const CaseResult& result);
  void finish();  // the summary, and alone on the last line `N passed, M failed`
  std::size_t passed() const { return passed_; }
  std::size_t failed() const { return failed_; }

 private:
  void open_group(Group group);
  void close_group();
  void print_failure(const CaseResult& result);
  void print_tiles();

  AcceptanceOptions options_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  bool any_group_ = false;
  Group group_{};
  std::size_t passed_ = 0, failed_ = 0, skipped_ = 0, detailed_ = 0;
  std::size_t green_[GROUPS] = {}, seen_[GROUPS] = {};  // by group
  std::vector<CaseOutcome> outcomes_;
  std::set<TileUse> ran_;
  double notes_max_diff_ = 0;
};

}  // namespace lab
