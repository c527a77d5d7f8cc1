// How the acceptance's cases are run: each is a subcase of doctest; what is held beside them are test cases of their own, and what is
// reported of all is a doctest reporter's. The same for every stage, pass and backend.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "checks/acceptance/case_run.hpp"
#include "checks/acceptance/overlap.hpp"
#include "checks/acceptance/report.hpp"
#include "checks/acceptance/same_bits.hpp"
#include "checks/acceptance/sampling.hpp"
#include "checks/runner/commands.hpp"
#include "checks/runner/forked.hpp"
#include "checks/runner/library.hpp"
#include "common/backend.hpp"

namespace lab {
namespace {

CaseResult run_here(std::size_t number);

// Many a launch has fewer blocks than the machine has cores, so cases run side by side, several in a process: it touches its memory, of
// hundreds of stacks, once. One with the same inputs as the case before it runs in the same process, which has them.
class SideBySide {
 public:
  explicit SideBySide(const std::vector<Case>& cases)
      : cases_(cases), begins_(groups(cases)), jobs_(begins_.size() - 1, [this](std::size_t group) {
          for (std::size_t i = begins_[group]; i < begins_[group + 1]; ++i) record("case", text_of(run_here(i)));
          return 0;
        }) {}
  // In the order of the cases.
  CaseResult take(std::size_t number) {
    if (number >= begins_[taken_]) {
      last_ = jobs_.take(taken_++);
      std::fputs(last_.text.c_str(), stdout);  // of a kernel that prints
    }
    const std::vector<std::string> results = last_.verdict.all("case");
    const std::size_t at = number - begins_[taken_ - 1];
    if (at < results.size()) return result_of(results[at], cases_[number]);
    CaseResult ended;
    ended.test = cases_[number];
    ended.problems.push_back({Evidence::failure, format("its process ended with status %d", last_.status)});
    return ended;
  }

 private:
  static std::vector<std::size_t> groups(const std::vector<Case>& cases) {
    constexpr std::size_t TURNS = 8;  // of a core: few of them, and enough that none waits long for another
    const std::size_t fewest = cases.size() / (TURNS * jobs_at_once());
    std::vector<std::size_t> begins;
    for (std::size_t i = 0; i < cases.size(); ++i) {
      if (i && i - begins.back() < fewest) continue;
      Shape before = i ? cases[i - 1].shape : Shape{};
      before.causal = cases[i].shape.causal;
      if (before != cases[i].shape || cases[i - 1].family != cases[i].family) begins.push_back(i);
    }
    begins.push_back(cases.size());
    return begins;
  }
  const std::vector<Case>& cases_;
  std::vector<std::size_t> begins_;  // of the groups, and the end
  std::size_t taken_ = 0;            // groups
  Forked last_;
  ForkedJobs jobs_;
};

struct Session {
  const Subject& subject;
  AcceptanceOptions options;
  std::vector<Case> cases;                       // in the order of the report
  std::function<double(const Case& test)> cost;  // for the progress line
  Report report;
  Progress progress;
  std::unique_ptr<SideBySide> processes = nullptr;  // that run the cases; none: this one does
  CaseResult last = {};                             // for the reporter
};
Session* session = nullptr;  // doctest's test cases take no arguments

CaseResult run_here(std::size_t number) {
  return run_case(session->subject, session->cases[number], number, session->options);
}

bool run(std::size_t number) {
  const Case& test = session->cases[number];
  CaseResult& result = session->last;
  session->progress.start(text(test));
  std::fflush(stdout);  // a case that takes the process along must not take the report too
  try {
    result = session->processes ? session->processes->take(number) : run_here(number);
  } catch (const StillRuns&) {
    result = {};
    result.test = test;
    result.problems.push_back({Evidence::failure, "the launch did not end: " + std::string(stage_name()) +
                                                      " still runs, and a GPU does not say where its lanes stand; make "
                                                      "backend=cpu does"});
    session->report.add(result);
    session->report.finish();
    std::_Exit(1);  // a destructor would wait for the kernel
  }
  session->progress.finish(session->cost(test));
  return result.green();
}

// Of what is held beside the cases.
void hold(const std::string& what, const std::vector<std::string>& red, bool counts = false) {
  session->report.held(what, red, counts);
  CHECK(red.empty());
}

TEST_SUITE_BEGIN("acceptance");
// doctest enters one subcase each time, and comes again until all have been.
TEST_CASE("cases") {
  for (std::size_t i = 0; i < session->cases.size(); ++i)
    SUBCASE((std::to_string(i) + ": " + text(session->cases[i])).c_str()) CHECK(run(i));
}
TEST_CASE("every instance of the kernel ran") {
  hold("Every instance of the kernels ran", left_out(session->subject, session->cases));
}
TEST_CASE("every element is written by one block") {
  if (session->subject.backward || !can_schedule()) return;
  const std::string twice = not_written_once(session->subject);
  hold("Every element is written by one block", twice.empty() ? std::vector<std::string>{} : std::vector{twice});
}
TEST_CASE("more heads than a grid is high") {
  if (!session->subject.backward || !can_schedule()) return;  // a GPU has computed them all
  const std::string why = dry_run(session->subject, MANY_HEADS).error();
  hold("More heads than a grid is high", why.empty() ? std::vector<std::string>{} : std::vector{why}, true);
}
TEST_CASE("other scales are refused") {
  if (kernel_library().find("/own/") != std::string::npos) return;  // a kernel of one's own may take them
  hold("A scale that is not positive and finite is refused", scales_not_refused(session->subject), true);
}
TEST_CASE("the order of blocks") {
  if (!session->subject.backward) return;
  const auto [lines, red] = order_of_blocks(session->subject);
  hold("The order of blocks" + (session->options.verbose ? lines : ""), red, true);
}
TEST_SUITE_END();

// Tells the report of doctest's subcases and test cases.
struct Reporter : doctest::IReporter {
  explicit Reporter(const doctest::ContextOptions&) {}
  void subcase_end() override { session->report.add(session->last); }
  void test_case_end(const doctest::CurrentTestCaseStats&) override { session->report.close_group(); }
  void test_run_end(const doctest::TestRunStats&) override { session->report.finish(); }
  void report_query(const doctest::QueryData&) override {}
  void test_run_start() override {}
  void test_case_start(const doctest::TestCaseData&) override {}
  void test_case_reenter(const doctest::TestCaseData&) override {}
  void test_case_exception(const doctest::TestCaseException& e) override {
    // doctest says this of a CHECK that ends a quick run, too.
    if (const std::string what = e.error_string.c_str(); !what.starts_with("exception thrown in subcase"))
      session->report.held("The harness could not go on", {what}, false);
  }
  void subcase_start(const doctest::SubcaseSignature&) override {}
  void log_assert(const doctest::AssertData&) override {}
  void log_message(const doctest::MessageData&) override {}
  void test_case_skipped(const doctest::TestCaseData&) override {}
};
REGISTER_REPORTER("cases", 0, Reporter);

// Returns doctest's status.
int run_test_cases(bool quick) {
  doctest::Context context;
  context.addFilter("test-suite", "acceptance");
  if (quick) context.addFilter("test-case", "cases");
  context.setOption("order-by", "file");
  context.setOption("reporters", "cases");
  if (quick) context.setOption("abort-after", 1);
  return context.run();
}

AcceptanceOptions options_in(std::span<char*> args) {
  constexpr std::string_view keys[] = {"full", "quick", "cheapest", "once", "seed", "verbose"};
  const KeyValues values(args, keys);
  AcceptanceOptions options{values.flag("full"), values.flag("quick"), 0, values.flag("once"), 1};
  options.cheapest = values.whole("cheapest", 1'000'000, 1, 0);
  options.quick |= options.cheapest > 0;
  options.seed = values.whole("seed", UINT64_MAX, 0, options.seed);
  options.verbose = values.flag("verbose");
  return options;
}

}  // namespace

// test [full=1] [quick=1] [cheapest=N] [once=1] [seed=N] [verbose=1]; cheapest= is for machines where all cases would
// take too long, once= for kernels that are most likely wrong.
int test_command(std::span<char*> args) {
  const Subject& subject = lab::subject();
  const AcceptanceOptions options = options_in(args);
  const auto cost = [&](const Case& c) { return case_cost(subject, c, options); };
  std::vector<Case> cases = cases_of(subject, options);
  if (!subject.backward) std::ranges::copy(instance_cases(subject, cases, options.seed), std::back_inserter(cases));
  std::ranges::copy(overlap_cases(subject, options.seed), std::back_inserter(cases));
  if (options.quick) leave_cheapest(cases, cost, options.cheapest);
  double all = 0;
  for (const Case& test : cases) all += cost(test);
  Session current{
      subject, options, cases, cost, Report(subject, options, cases.size()), Progress(cases.size(), all, options.full)};
  session = &current;
  if (!options.quick && can_schedule() && jobs_at_once() > 1) {
    // The numbers that inputs are made of are drawn once, before there are processes that need them.
    const Case& largest = *std::ranges::max_element(cases, {}, [](const Case& c) { return tensors_of(c).elements(); });
    make_inputs(Family::unit, tensors_of(largest), options.seed);
    current.processes = std::make_unique<SideBySide>(current.cases);
  }
  const int status = run_test_cases(options.quick);
  set_exec_options({});
  // No case at all is no proof, and doctest must agree with the count.
  return status == 0 && current.report.failed() == 0 && current.report.passed() > 0 ? 0 : 1;
}

}  // namespace lab
