// What `lab test` prints: tables of cases in groups, failures with enough to act on, progress, the summary.
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
std::string plan_text(const Shape& shape, const LaunchPlan& plan);

// Says what is running and how long is left: one updating line on a terminal; elsewhere, if asked for and once five seconds have gone by,
// a line for each tenth of it (where a report's own lines come often enough, they are not). A run with a verdict file is a part of another
// program's work, and is silent.
class Progress {
 public:
  Progress(std::size_t cases, double cost, bool plain_lines);
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
  virtual ~Report() = default;
  void add(const CaseResult& result);
  void finish();  // the summary, and alone on the last line `N passed, M failed`
  std::size_t passed() const { return passed_; }
  std::size_t failed() const { return failed_; }

 protected:
  struct Looks {
    const char* if_quick = "";      // the end of the first line
    int shape_width = 16;           // of its column
    std::size_t most_detailed = 8;  // later failures get a line each: by then the first ones have told it
    const char* titles[GROUPS] = {};
  };
  Report(const AcceptanceOptions& options, const Looks& how);  // prints the first line
  virtual void open_group(Group group);
  virtual void close_group(Group) {}
  virtual void print_case(const CaseResult& result) = 0;
  void print_row(const CaseResult& result, const std::string& diff, const std::string& ratio, const std::string& rest);
  virtual void after_groups() {}  // of a run that is not quick: what else is held
  virtual std::string summary() const = 0;

  AcceptanceOptions options_;
  std::size_t passed_ = 0, failed_ = 0, skipped_ = 0;
  std::size_t green_[GROUPS] = {}, seen_[GROUPS] = {};  // by group

 private:
  void print_failure(const CaseResult& result);

  const Looks how_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::optional<Group> group_;  // whose table is open
  std::vector<CaseOutcome> outcomes_;
  std::size_t detailed_ = 0;
};

// Of a stage of the forward pass.
class ForwardReport : public Report {
 public:
  explicit ForwardReport(const AcceptanceOptions& options);

 private:
  void open_group(Group group) override;
  void close_group(Group group) override;
  void print_case(const CaseResult& result) override;
  void after_groups() override;
  std::string summary() const override;

  std::set<TileUse> ran_;
  double notes_max_diff_ = 0;
};

}  // namespace lab
