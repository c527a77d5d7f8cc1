#include "checks/acceptance/acceptance.hpp"

#include <doctest/doctest.h>

#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <span>
#include <string_view>
#include <thread>

#include "checks/acceptance/case_run.hpp"
#include "checks/acceptance/cases.hpp"
#include "checks/acceptance/overlap.hpp"
#include "checks/acceptance/processes.hpp"
#include "checks/acceptance/report.hpp"
#include "checks/acceptance/result_bytes.hpp"
#include "checks/runner/commands.hpp"
#include "common/backend.hpp"
#include "common/stage.hpp"

namespace lab {
namespace {

struct Session {
  const Acceptance& what;
  Progress progress;
  std::unique_ptr<Processes> processes = nullptr;  // that run the cases; none: this one does
};
Session* session = nullptr;  // doctest's test cases take no arguments

// Many a launch has fewer blocks than the machine has cores, so cases run side by side. A GPU is not shared, and
// what stops at the first red case has no use for those after it.
constexpr int MOST_PROCESSES = 4;
std::unique_ptr<Processes> start_processes(const Acceptance& what) {
  const int processes = std::min(MOST_PROCESSES, int(std::thread::hardware_concurrency()));
  if (what.options.quick || !can_schedule() || processes < 2) return nullptr;
  const auto job = [&](std::size_t i) {
    CaseResult result;
    result.test = what.cases[i];
    try {
      result = what.run(what.cases[i], i);
    } catch (const std::exception& e) {
      result.problems.push_back({Tells::failure, std::string("the harness could not go on: ") + e.what()});
    }
    return bytes_of(result);
  };
  // A case with the same inputs as an earlier one reuses them.
  const auto same_inputs = [&](std::size_t i) {
    Case before = what.cases[i - 1];
    before.shape.causal = what.cases[i].shape.causal;
    return before.shape == what.cases[i].shape && before.family == what.cases[i].family;
  };
  return std::make_unique<Processes>(what.cases.size(), processes, job, same_inputs);
}

// Ends this process as the case's own process ended.
[[noreturn]] void end_like(int status) {
  std::fflush(nullptr);
  if (WIFSIGNALED(status)) {
    signal(WTERMSIG(status), SIG_DFL);
    raise(WTERMSIG(status));
  }
  std::_Exit(WIFEXITED(status) && WEXITSTATUS(status) ? WEXITSTATUS(status) : 1);
}

bool run_and_report(const Case& test) {
  Report& report = session->what.report;
  CaseResult result;
  result.test = test;
  session->progress.start(text(test));
  std::fflush(stdout);  // a case that takes the process along must not take the report too
  const std::size_t number = std::size_t(&test - session->what.cases.data());
  try {
    result = session->processes ? result_of(session->processes->take(number), test) : session->what.run(test, number);
  } catch (const ProcessDied& died) {
    session->processes.reset();
    end_like(died.status);
  } catch (const StillRuns&) {
    result.problems.push_back({Tells::failure, "the launch did not end: " + std::string(stage().name) +
                                                   " still runs, and a GPU does not say where its lanes stand; make "
                                                   "backend=cpu does"});
    report.add(result);
    report.finish();
    std::_Exit(1);  // a destructor would wait for the kernel
  } catch (const std::exception& e) {
    result.problems.push_back({Tells::failure, std::string("the harness could not go on: ") + e.what()});
  }
  session->progress.finish(session->what.cost(test));
  report.add(result);
  return result.green();
}

void run_group(Group group) {
  for (const Case& test : session->what.cases)
    if (test.group == group) CHECK(run_and_report(test));
}

// Of the lengths and the amplitudes every second, causal or not by turns. The last character of a stage's version says
// which half: about half of the ladder runs either.
void leave_every_second(std::vector<Case>& cases) {
  const std::string_view name = stage().name, version = name.substr(0, name.find('_'));
  const std::size_t first = std::size_t(version.back());
  std::size_t number = 0;
  std::erase_if(cases, [&](const Case& c) {
    if (c.group != Group::ragged && c.group != Group::amplitudes) return false;
    const std::size_t n = number++;
    return (n + n / 2 + first) % 2 != 0;
  });
}

TEST_SUITE_BEGIN("acceptance");
TEST_CASE("whole: the shapes of the notes") { run_group(Group::notes); }
TEST_CASE("whole: inputs that tell a wrong kernel") { run_group(Group::families); }
TEST_CASE("whole: ragged lengths") { run_group(Group::ragged); }
TEST_CASE("whole: other scales") { run_group(Group::scales); }
TEST_CASE("whole: large q and k") { run_group(Group::amplitudes); }
TEST_CASE("whole: NaN and infinities") { run_group(Group::special); }
TEST_CASE("whole: addresses past 2^32 elements") { run_group(Group::far); }
TEST_CASE("whole: the launcher's tiles") { run_group(Group::tiles); }
TEST_CASE("whole: launches that overlap") { run_group(Group::overlap); }
TEST_CASE("quick: every case, the cheapest first, until one is red") {
  for (const Case& test : session->what.cases) {
    if (session->progress.seconds() > session->what.seconds) break;
    REQUIRE(run_and_report(test));
  }
}
TEST_SUITE_END();

// Returns doctest's status.
int run_test_cases(bool quick) {
  doctest::Context context;
  context.addFilter("test-suite", "acceptance");
  context.addFilter("test-case", quick ? "quick:*" : "whole:*");
  context.setOption("order-by", "file");
  context.setOption("quiet", true);  // the report is ours; doctest's own summary must not end it
  return context.run();
}

}  // namespace

int run_acceptance(const Acceptance& acceptance) {
  double cost = 0;
  for (const Case& test : acceptance.cases) cost += acceptance.cost(test);
  Session current{acceptance, Progress(acceptance.cases.size(), cost, acceptance.options.full)};
  session = &current;
  current.processes = start_processes(acceptance);

  const int status = run_test_cases(acceptance.options.quick);
  set_exec_options({});
  session = nullptr;

  acceptance.report.finish();
  // No case at all is no proof, and doctest must agree with the count.
  return status == 0 && acceptance.report.failed() == 0 && acceptance.report.passed() > 0 ? 0 : 1;
}

AcceptanceOptions acceptance_options(std::span<char*> args) {
  constexpr std::string_view keys[] = {"full", "quick", "cheapest", "once", "turns", "seed"};
  const KeyValues values(args, keys);
  AcceptanceOptions options{values.flag("full"), values.flag("quick"), 0, values.flag("once"), 1};
  options.cheapest = values.whole("cheapest", 1'000'000, 1, 0);
  options.quick |= options.cheapest > 0;
  options.seed = values.whole("seed", UINT64_MAX, 0, options.seed);
  options.turns = values.flag("turns");
  return options;
}

int test_command(std::span<char*> args) {
  const AcceptanceOptions options = acceptance_options(args);
  const auto cost = [&](const Case& c) { return case_cost(c, options); };
  std::vector<Case> cases = all_cases(options.seed);
  if (options.turns && can_schedule()) leave_every_second(cases);
  std::ranges::copy(tile_cases(cases, options.seed), std::back_inserter(cases));
  std::ranges::copy(overlap_cases(options.seed), std::back_inserter(cases));
  if (options.quick) std::ranges::stable_sort(cases, {}, cost);
  if (options.cheapest && options.cheapest < cases.size()) cases.resize(options.cheapest);
  ForwardReport report(options);
  const auto run = [&](const Case& test, std::size_t number) {
    return test.group == Group::overlap ? run_overlap_case(test, overlapping_attention)
                                        : run_case(test, number, options);
  };
  return run_acceptance({options, std::move(cases), run, cost, report});
}

}  // namespace lab
