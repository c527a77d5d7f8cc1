// The acceptance of a backward stage, as checks/acceptance has it for the forward pass: cases in groups, each launched
// once against the oracle and then repeated. The same for every stage and backend.
#include <doctest/doctest.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <span>
#include <string_view>
#include <thread>

#include "checks/acceptance/format.hpp"
#include "checks/acceptance/pattern.hpp"
#include "checks/acceptance/processes.hpp"
#include "checks/acceptance/report.hpp"
#include "checks/acceptance/verdict.hpp"
#include "checks/backward/cases.hpp"
#include "checks/backward/same_bits.hpp"
#include "checks/backward/trial.hpp"
#include "checks/commands.hpp"
#include "common/conf.hpp"
#include "reference/attention.hpp"

namespace lab {
namespace {

// A case is repeated under one of these by turns, with full=1 under all. The order of blocks is part of it.
struct Repeat {
  Schedule schedule;
  bool gaps;
  std::uint64_t block_order;
};
constexpr Repeat REPEATS[] = {{Schedule::descending, false, 1},
                              {Schedule::round_robin, true, 2},
                              {Schedule::random, false, 3},
                              {Schedule::ascending, false, 0}};

struct Options {
  bool full = false, quick = false, turns = false, once = false;
  std::size_t cheapest = 0;
  std::size_t random = 0;  // how many cases the seed draws, in place of the fixed ones; 0: the fixed ones
  double seconds = 1e9;    // no case begins later
  std::uint64_t seed = 1;
  bool same_bits = true;  // what stage.conf claims
};

// The line and the problems of a case, ready to print; its first character is + or -.
class CaseText {
 public:
  CaseText(const Case& test, std::size_t number, const Options& options) : test_(test), options_(options) {
    const BackwardInputs in = make_backward_inputs(test.family, test.shape, test.seed, test.amplitude);
    const ExpectedBackward right = expected_backward(test.shape, scale_of(test), in, backward_stage().half_p);
    ExecOptions one_by_one;  // in the order of blockIdx, and no block starts while another one waits
    one_by_one.crowded = true;
    const BackwardTrial first = launch(in, one_by_one, "");
    Judged judged;
    if (first.ok()) judged = compare(first, right, "");
    if (first.ok() && problems_.empty() && !options.once) {
      for (std::size_t i = 0; i < std::size(REPEATS); ++i) {
        if (!options.full && i != number % std::size(REPEATS)) continue;
        ExecOptions exec;
        exec.schedule = REPEATS[i].schedule, exec.gaps = REPEATS[i].gaps, exec.block_order = REPEATS[i].block_order;
        const std::string how = can_schedule() ? format(" [schedule %s, block order %llu]", name(exec.schedule),
                                                        (unsigned long long)exec.block_order)
                                               : " [repeated]";
        const BackwardTrial again = launch(in, exec, how);
        if (!again.ok()) break;
        if (options.same_bits && !first.same_bits(again))
          problems_.push_back("differs from the first launch, and stage.conf says same_bits=\"yes\"" + how);
        if (!options.same_bits) compare(again, right, how);
      }
    }
    write(judged, right);
  }
  const std::string& text() const { return text_; }

 private:
  BackwardTrial launch(const BackwardInputs& in, ExecOptions exec, const std::string& how) {
    constexpr double BLOCK_SECONDS = 20;
    exec.block_seconds = BLOCK_SECONDS;
    BackwardTrial t = run_backward(test_.shape, scale_of(test_), in, exec);
    ++launches_;
    if (!t.ok()) problems_.push_back(t.error() + how);
    for (const std::string& stray : t.stray) problems_.push_back(stray + how);
    return t;
  }

  Judged compare(const BackwardTrial& trial, const ExpectedBackward& right, const std::string& how) {
    const Judged j = judge(trial, right);
    if (j.outside > 0) {
      std::string nans;
      if (j.nans) nans = format("; %zu are NaN, %zu of them with the poison's bits", j.nans, j.unwritten);
      problems_.push_back(format("%zu of %zu gradients outside the bound%s", j.outside, j.compared, nans.c_str()) +
                          how);
      problems_.push_back("worst: " + j.worst + how);
    }
    return j;
  }

  void write(const Judged& j, const ExpectedBackward& right) {
    const Shape& s = test_.shape;
    const bool green = problems_.empty();
    text_ = green ? "+" : "-";
    text_ += format("%-10s %-15s %-6s  %-9s  %-10s  %-6s  %zu gradients, %d launches", lab::name(test_.family),
                    format("(%d,%d,%d,%d)", s.B, s.H, s.S, s.D).c_str(), s.causal ? "yes" : "no",
                    j.compared ? format("%.6f", j.max_diff).c_str() : "-",
                    j.compared ? format("%.0f%%", 100 * j.worst_ratio).c_str() : "-", green ? "PASS" : "FAIL",
                    j.compared, launches_);
    if (test_.scale) text_ += format("; scale %g", *test_.scale);
    if (test_.amplitude != 1) text_ += format("; amplitude %g", test_.amplitude);
    if (right.unbounded) text_ += format("; %zu held to being finite alone", right.unbounded);
    text_ += "\n";
    if (green) return;
    text_ += "  RED " + lab::text(test_) + "\n";
    for (const std::string& problem : problems_) text_ += "    " + problem + "\n";
  }

  const Case& test_;
  const Options& options_;
  int launches_ = 0;
  std::vector<std::string> problems_;
  std::string text_;
};

struct Session {
  Options options;
  std::vector<Case> cases;
  std::unique_ptr<Processes> processes = nullptr;
  std::size_t passed = 0, failed = 0;
  std::vector<CaseOutcome> outcomes = {};
};
Session* session = nullptr;  // doctest's test cases take no arguments

std::string text_of(std::size_t number) {
  const Case& test = session->cases[number];
  try {
    return CaseText(test, number, session->options).text();
  } catch (const std::exception& e) {
    return "-  RED " + text(test) + ": the harness could not go on: " + e.what() + "\n";
  }
}

// The case's line, then "  RED (1,2,100,64)..." and a problem a line.
void report_red(const std::string& text) {
  const std::size_t red = text.find("  RED ");
  std::fputs(text.substr(0, red).c_str(), stdout);
  const std::string problems = text.substr(red, text.size() - red - 1);
  const std::size_t end = problems.find('\n');
  say("tells", problems.substr(6, end - 6) + (end == problems.npos ? "" : ":" + problems.substr(end + 4)));
  print_red(problems);
}

bool run_and_report(std::size_t number) {
  std::fflush(stdout);
  std::string said;
  try {
    said = session->processes ? session->processes->take(number) : text_of(number);
  } catch (const ProcessDied&) {
    session->processes.reset();
    std::printf("  RED %s: its process ended\n", text(session->cases[number]).c_str());
    std::fflush(stdout);
    std::_Exit(1);
  }
  const bool green = said[0] == '+';
  if (green)
    std::fputs(said.c_str() + 1, stdout);
  else
    report_red(said.substr(1));
  ++(green ? session->passed : session->failed);
  session->outcomes.push_back({session->cases[number], green});
  return green;
}

void run_group(Group group, const char* title) {
  const auto in_group = [&](const Case& c) { return c.group == group; };
  if (std::ranges::none_of(session->cases, in_group)) return;
  std::printf("\n%s\n%-10s %-15s causal  max diff   of allowed  status  checked\n", title, "family", "shape");
  for (std::size_t i = 0; i < session->cases.size(); ++i)
    if (in_group(session->cases[i])) CHECK(run_and_report(i));
}

TEST_SUITE_BEGIN("backward acceptance");
TEST_CASE("whole: the shapes of the notes") {
  run_group(Group::notes, "Shapes of the notes: |out - ref| <= allowed (checks/backward/expected.hpp)");
}
TEST_CASE("whole: inputs that tell a wrong kernel") {
  run_group(Group::families, "Inputs that tell a wrong kernel: the same bound");
}
TEST_CASE("whole: ragged lengths") { run_group(Group::ragged, "Ragged lengths, odd B and H: the same bound"); }
TEST_CASE("whole: other scales") { run_group(Group::scales, "Other scales than 1/sqrt(D): the same bound"); }
TEST_CASE("whole: large q and k") {
  run_group(Group::amplitudes, "Large q and k, as far as the bound of first order goes");
}
TEST_CASE("whole: NaN and infinities") {
  run_group(Group::special,
            "One NaN or infinity in q, k or v of each head: where the definition has them, or zero times them");
}
TEST_CASE("whole: more heads than a grid is high") {
  if (!can_schedule()) return;  // a GPU has computed them all
  const std::string why = refusal(MANY_HEADS);
  std::printf("\nMore heads than a grid is high\n%s: %s\n", text(MANY_HEADS).c_str(),
              why.empty() ? "launched" : why.c_str());
  ++(why.empty() ? session->passed : session->failed);
  CHECK(why == "");
}
TEST_CASE("whole: the order of blocks") {
  std::printf("\nThe order of blocks\n");
  const bool held = holds_its_claim(4);
  ++(held ? session->passed : session->failed);
  CHECK(held);
}
TEST_CASE("quick: every case, the cheapest first, until one is red") {
  const auto begin = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < session->cases.size(); ++i) {
    if (std::chrono::steady_clock::now() - begin > std::chrono::duration<double>(session->options.seconds)) break;
    REQUIRE(run_and_report(i));
  }
}
TEST_SUITE_END();

int run_backward_acceptance(const Options& options) {
  const auto begin = std::chrono::steady_clock::now();
  const std::string_view bug = planted_bug();
  std::printf("%s on %s (%s), planted bug: %s, seed %llu%s\n", backward_stage().name, backend_name(),
              device_name().c_str(), bug.empty() ? "none" : bug.data(), (unsigned long long)options.seed,
              options.full ? ", full=1" : "");
  Session current{options, options.random ? random_backward_cases(options.seed, options.random)
                                          : backward_cases(options.seed, options.full || !can_schedule())};
  session = &current;
  if (options.turns && can_schedule()) {
    std::size_t number = 0;
    std::erase_if(current.cases, [&](const Case& c) { return c.group != Group::notes && number++ % 2 != 0; });
  }
  if (options.quick) std::ranges::stable_sort(current.cases, {}, cost);
  if (options.cheapest) current.cases = cheapest_cases(std::move(current.cases), options.cheapest);
  std::printf("%zu cases; every block runs. Each is launched once against the oracle, then repeated %s, %s.%s\n",
              current.cases.size(),
              !can_schedule() ? "once"
              : options.full  ? "under four schedules"
                              : "under one of four schedules by turns",
              options.same_bits ? "with the same bits" : "against the oracle, for the order of blocks may show",
              options.turns && can_schedule()
                  ? " Of the cases but the notes' every second; make stage=S test takes all."
              : !options.full && can_schedule() ? " The notes' shapes have one head, and full=1 takes them whole."
                                                : "");
  constexpr unsigned MOST_PROCESSES = 4;
  if (!options.quick && can_schedule() && std::thread::hardware_concurrency() > 1)
    current.processes = std::make_unique<Processes>(current.cases.size(),
                                                    int(std::min(MOST_PROCESSES, std::thread::hardware_concurrency())),
                                                    text_of, [](std::size_t) { return false; });

  const int status = run_test_cases("backward acceptance", options.quick);
  session = nullptr;
  if (const std::string pattern = red_pattern(current.outcomes); !pattern.empty())
    std::printf("\nRed: %s\n", pattern.c_str());
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  std::printf("\n%s %s: dQ, dK and dV of %zu cases, %.1f s\n%zu passed, %zu failed\n", backward_stage().name,
              backend_name(), current.outcomes.size(), seconds.count(), current.passed, current.failed);
  return status == 0 && current.failed == 0 && current.passed > 0 ? 0 : 1;
}

}  // namespace

// lab test [full=1] [quick=1] [cheapest=N] [once=1] [turns=1] [seed=N]
int backward_test_command(std::span<char*> args) {
  constexpr std::string_view keys[] = {"full", "quick", "cheapest", "turns", "seed", "once"};
  const KeyValues values(args, keys);
  Options options{values.flag("full"), values.flag("quick"), values.flag("turns"), values.flag("once")};
  options.cheapest = values.whole("cheapest", 1 << 20);
  options.quick |= options.cheapest > 0;
  if (values.get("seed")) options.seed = values.whole("seed", ~0ull);
  options.same_bits = claims_same_bits();
  return run_backward_acceptance(options);
}

// lab fuzz [seconds=N] [cases=N] [seed=K]
int backward_fuzz_command(std::span<char*> args) {
  constexpr std::string_view keys[] = {"seconds", "cases", "seed"};
  const KeyValues values(args, keys);
  Options options;
  options.quick = true, options.same_bits = claims_same_bits();
  options.seconds = double(values.whole("seconds", 1'000'000, 1, 60));
  options.random = values.whole("cases", 1'000'000, 1, 1000), options.seed = values.whole("seed", ~0ull, 0, 1);
  return run_backward_acceptance(options);
}

}  // namespace lab
