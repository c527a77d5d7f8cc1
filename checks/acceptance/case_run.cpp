#include "checks/acceptance/case_run.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <memory>
#include <numeric>
#include <span>
#include <sstream>
#include <utility>

#include "checks/acceptance/format.hpp"
#include "checks/acceptance/overlap.hpp"
#include "checks/acceptance/sampling.hpp"
#include "common/backend.hpp"
#include "common/gpu_access.hpp"
#include "common/stage_names.hpp"
#include "common/target.hpp"

namespace lab {
namespace {

// Of processor time on the CPU, where the slowest block of a case takes less than half of it.
constexpr double BLOCK_SECONDS = 10, BACKWARD_BLOCK_SECONDS = 20;
constexpr std::size_t MOST_FINDINGS = 2;  // of one launch

// The first is compared with the oracle, the rest with the first. Two under equal conditions come first: a kernel that
// differs from itself has a race that needs no other schedule.
const ExecOptions FORWARD_RUNS[] = {
    {},
    {},
    {.schedule = Schedule::descending, .copies = Copies::at_issue},
    {.schedule = Schedule::round_robin,
     .products = Copies::at_issue,
     .fragments = Fragments::other,
     .spelled_out = true,
     .gaps = true},
    {.schedule = Schedule::random, .copies = Copies::at_issue, .products = Copies::random},
    // A loader that runs between an early copy and a late product finds the slot that was given back too soon.
    {.schedule = Schedule::round_robin, .copies = Copies::at_issue},
};
// Blocks of a backward stage add to sums: their order is part of a run. Compared with the first where the stage claims the
// same bits in every order, else with the oracle.
constexpr int CROWDED = 1;  // room for no more blocks at once than wait for each other
const ExecOptions BACKWARD_RUNS[] = {
    {.room = CROWDED},
    {.schedule = Schedule::descending, .block_order = 1},
    {.schedule = Schedule::round_robin, .gaps = true, .block_order = 2},
    {.schedule = Schedule::random, .block_order = 3},
    {},
};
// A reduction lane by lane takes five times as long as in one step, and one that is wrong is wrong in every case: each
// third spells them out.
constexpr std::size_t SPELLED_OUT_EVERY = 3;
// For launchers that count multiprocessors, on cases that run whole: few of them mean other instances, and blocks with
// more than one piece of work, in which a lane that comes late can find its slot in use again. Other instances round
// differently, so the oracle judges.
const ExecOptions FEW_MULTIPROCESSORS{.schedule = Schedule::leaders, .copies = Copies::at_issue, .multiprocessors = 2};

std::string text(const ExecOptions& run) {
  if (!can_schedule())
    return run.multiprocessors ? format("launch, %d multiprocessors", run.multiprocessors) : "launch";
  return format("schedule %s%s, copies %s%s", name(run.schedule),
                run.schedule == Schedule::random ? format(" (seed %llu)", (unsigned long long)run.seed).c_str() : "",
                name(run.copies),
                run.multiprocessors ? format(", %d multiprocessors", run.multiprocessors).c_str()
                : run.gaps          ? ", gaps between shared arrays, another fragment layout"
                                    : "") +
         (run.block_order ? format(", block order %llu", (unsigned long long)run.block_order) : "") +
         (run.spelled_out ? ", reductions lane by lane" : "") +
         (stage_target().only_there && run.products != Copies::at_wait ? format(", products %s", name(run.products))
                                                                       : "");
}

// Drawing millions of normal numbers takes longer than checking a sample of blocks: with and without the causal mask the
// inputs are the same.
const Problem& cached_problem(const Subject& subject, const Case& test) {
  static Case cached{};
  static Problem problem;
  Case key = test;
  key.shape.causal = false, key.group = Group::families;
  const auto same = [](const Case& a, const Case& b) {
    return a.shape == b.shape && a.family == b.family && a.seed == b.seed && a.amplitude == b.amplitude;
  };
  if (problem.in.q.empty() || subject.backward || test.group == Group::far || !same(key, cached))
    problem = problem_of(subject, test), cached = key;
  problem.shape = tensors_of(test), problem.scale = scale_of(test);
  problem.notes = test.group == Group::notes && !subject.backward;
  return problem;
}

class CaseRun {
 public:
  CaseRun(const Subject& subject, const Case& test, std::size_t number, const AcceptanceOptions& options)
      : subject_(subject),
        options_(options),
        number_(number),
        grid_(grid_of(subject, test.shape, test.multiprocessors)) {
    result_.test = test;
    if (!options.first) return;
    const bool plain = options.first->schedule == Schedule::ascending && options.first->copies == Copies::at_wait;
    own_runs_ = {*options.first, {}};
    if (plain) own_runs_[1].schedule = Schedule::round_robin, own_runs_[1].copies = Copies::at_issue;
    own_runs_[1].seed = options.first->seed, own_runs_[1].check = options.first->check;
  }

  CaseResult run() {
    const bool far = result_.test.group == Group::far;
    if (far && !can_schedule()) return skip("a GPU runs every block, and the heads before the last have no memory");
    const auto [checked, repeated] = sample_of(subject_, result_.test, grid_, options_);
    if (far && checked.empty())
      return skip("neither end of its grid works on the last head alone, and the heads before it have no memory");
    result_.checked = checked.size(), result_.repeated = repeated.size(), result_.total = grid_.units;
    problem_ = &cached_problem(subject_, result_.test);
    tensors_ = std::make_unique<Tensors>(subject_, problem_->in, !runs()[0].check);
    launch_all(checked, repeated);
    std::ranges::stable_sort(problems_, {}, &Fault::evidence);
    result_.problems = problems_;
    return result_;
  }

 private:
  using Units = std::vector<std::uint32_t>;
  using Outputs = std::vector<std::vector<fp16>>;

  CaseResult& skip(const std::string& why) {
    result_.skipped = true, result_.note = why;
    return result_;
  }

  void launch_all(const Units& checked, const Units& repeated) {
    Outputs first;
    if (!launch(runs()[0], checked, first) || result_.skipped) return;
    compare_with_oracle(first, rows_of(checked, first));
    if (options_.once || repeated.empty() || (!green() && (options_.quick || subject_.backward))) return;
    std::vector<RowBlock> again_rows;
    for (const std::size_t i : repeats()) {
      ExecOptions run = runs()[i];
      if (number_ % SPELLED_OUT_EVERY) run.spelled_out = false;
      Outputs output;
      if (!launch(run, repeated, output)) break;  // the next launch would only say it again
      const std::vector<RowBlock> rows = rows_of(repeated, output);
      if (again_rows.empty()) again_rows = rows;
      if (!subject_.same_bits)
        compare_with_oracle(output, rows, &run);
      else
        compare_with_first(run, output, first, again_rows);
    }
    if (!subject_.backward && result_.test.multiprocessors == 0 && checked.size() == grid_.units && green() &&
        grid_of(subject_, result_.test.shape, FEW_MULTIPROCESSORS.multiprocessors) != grid_) {
      Outputs output;
      if (launch(FEW_MULTIPROCESSORS, checked, output)) compare_with_oracle(output, all_rows(problem_->shape));
    }
  }

  std::span<const ExecOptions> runs() const {
    if (!own_runs_.empty()) return own_runs_;
    return subject_.backward ? std::span<const ExecOptions>(BACKWARD_RUNS) : FORWARD_RUNS;
  }

  // The indices of the runs that come after the first.
  std::vector<std::size_t> repeats() const {
    const std::size_t count = runs().size() - 1;
    if (!can_schedule() || !own_runs_.empty()) return {1};
    std::vector<std::size_t> some = {1 + number_ % count};  // the next case: under the next
    if (subject_.backward ? options_.full : all_runs(result_.test, options_))
      some.resize(count), std::iota(some.begin(), some.end(), 1u);
    return some;
  }

  bool green() const { return problems_.empty(); }

  // Says `what` once, however many of the case's launches show it.
  void problem(Evidence evidence, const std::string& what, const ExecOptions* run = nullptr, bool again = false) {
    if (std::ranges::find(said_, what) != said_.end()) return;
    said_.push_back(what);
    problems_.push_back({evidence, run ? what + " [" + text(*run) + "]" : what, again});
  }

  bool is_sample(const Units& units) const { return !units.empty() && units.size() < grid_.units; }

  // All of them, or of a sample those that it has written.
  std::vector<RowBlock> rows_of(const Units& units, const Outputs& outputs) {
    if (!is_sample(units)) return all_rows(problem_->shape);
    std::vector<RowBlock> rows = written_rows(problem_->shape, outputs[0]);
    if (rows.empty()) problem(Evidence::numbers, format("%zu blocks ran, and wrote nothing", units.size()));
    return rows;
  }

  // Everything that a launch says without the right answer being known. False if nothing ran.
  bool launch(const ExecOptions& run, const Units& units, Outputs& outputs) {
    Launching how;
    ExecOptions& options = how.options = run;
    if (!run.multiprocessors) options.multiprocessors = result_.test.multiprocessors;
    options.block_seconds = subject_.backward ? BACKWARD_BLOCK_SECONDS : BLOCK_SECONDS;
    if (run.room) options.room = subject_.together;
    // With several the order of atomic sums would be the operating system's.
    if (subject_.backward) options.workers = 1;
    if (is_sample(units)) options.blocks = grid_.blocks(units);
    const bool counted = can_schedule() && !subject_.backward && options.multiprocessors == 0;
    ++result_.launches;
    Ran ran = tensors_->launch(result_.test.shape, problem_->scale, how);
    if (ran.still_runs()) {
      (void)tensors_.release();  // its destructor would wait for the kernel
      throw StillRuns(text(result_.test));
    }
    if (const std::string why = ran.not_taken(); !why.empty()) return skip(why), false;
    if (ran.report.hang.deadlock) result_.hang = data_of(ran.report.hang.waits.at(0));
    std::size_t findings = 0;
    for (const Fault& fault : faults_of(ran, counted && grid_.independent ? units.size() * grid_.blocks_per_unit : 0))
      if (fault.evidence != Evidence::finding || ++findings <= MOST_FINDINGS)
        problem(fault.evidence, fault.what, &run, fault.again);
    if (findings > MOST_FINDINGS)
      problem(Evidence::finding, format("and %zu more findings", findings - MOST_FINDINGS), &run);
    outputs = std::move(ran.outputs);
    return ran.ok();
  }

  // One element off by more than its bound makes the case red. NaN is within a bound only where the oracle has NaN.
  void compare_with_oracle(const Outputs& outputs, const std::vector<RowBlock>& rows,
                           const ExecOptions* run = nullptr) {
    if (right_.empty()) right_ = oracle(subject_, *problem_, rows);
    Comparison compared;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      compare(problem_->shape, rows, outputs[i], right_[i], compared, {.output = int(i)});
      if (!compared.good() && result_.map.empty()) draw(int(i), outputs[i], right_[i], rows);
    }
    if (!run) result_.compared = compared;
    for (const std::string& line : lines_of(compared, subject_.outputs)) problem(Evidence::numbers, line, run);
    std::size_t unbounded = 0;
    for (const Expected& e : right_)
      for (std::size_t i = 0; i < e.value.size(); ++i)
        unbounded += std::isfinite(e.value[i]) && e.allowed[i] == INFINITY;
    if (unbounded) result_.note = format("; %zu held to being finite alone", unbounded);
  }

  void draw(int output, const std::vector<fp16>& out, const Expected& right, const std::vector<RowBlock>& rows) {
    const std::string marks = marks_of(problem_->shape, rows, out, right);
    result_.map = map_of(problem_->shape, marks, "'#' wrong, 'N' NaN, '~' never written, '.' right");
    if (subject_.outputs.size() > 1) result_.map[0] = subject_.outputs[std::size_t(output)] + (", " + result_.map[0]);
  }

  void compare_with_first(const ExecOptions& run, const Outputs& outputs, const Outputs& first,
                          const std::vector<RowBlock>& rows) {
    const std::string bug = *planted_bug() ? std::string(" bug=") + planted_bug() : "";
    for (std::size_t output = 0; output < outputs.size(); ++output) {
      const auto [compared, others, where] = differing(problem_->shape, rows, outputs[output], first[output]);
      if (others == 0) continue;
      problem(
          Evidence::race,
          format(
              "not repeatable (make stage=%s%s racecheck names the race): differs from the first launch in %zu of %zu "
              "elements, first at %s%s: %s, was %s",
              short_stage_name(stage_name()).c_str(), bug.c_str(), others, compared,
              subject_.backward ? (std::string(subject_.outputs[output]) + " ").c_str() : "",
              place_of(problem_->shape, where).c_str(), number(to_float(outputs[output][where])).c_str(),
              number(to_float(first[output][where])).c_str()),
          &run);
    }
    const auto count = [](const std::vector<RowBlock>& some) {
      int rows_of_all = 0;
      for (const RowBlock& block : some) rows_of_all += block.rows;
      return rows_of_all;
    };
    if (const int now = count(written_rows(problem_->shape, outputs[0])); now > count(rows))
      problem(Evidence::stray_write,
              format("%d rows are written that these blocks did not write before", now - count(rows)), &run);
  }

  const Subject& subject_;
  const AcceptanceOptions& options_;
  std::size_t number_;  // of the case: which runs come after its first
  Grid grid_;
  const Problem* problem_ = nullptr;
  std::unique_ptr<Tensors> tensors_;
  std::vector<Expected> right_;  // of the rows that the first launch is held to, and each other that the oracle judges
  std::vector<std::string> said_;
  std::vector<Fault> problems_;
  CaseResult result_{};
  std::vector<ExecOptions> own_runs_;  // of fuzz
};

}  // namespace

CaseResult run_case(const Subject& subject, const Case& test, std::size_t number, const AcceptanceOptions& options) {
  CaseResult lost;
  lost.test = test;
  try {
    return test.group == Group::overlap ? run_overlap_case(subject, test)
                                        : CaseRun(subject, test, number, options).run();
  } catch (const StillRuns&) {
    throw;
  } catch (const std::exception& e) {  // a lost GPU context, or no memory
    lost.problems.push_back({Evidence::failure, std::string("the harness could not go on: ") + e.what()});
  }
  return lost;
}

// Fields, in one line: a new line within one is a character that no report has.
static constexpr char BETWEEN = '\x1f', NEW_LINE = '\x1e';

std::string text_of(const CaseResult& r) {
  const Comparison& c = r.compared;
  std::string text = format("%zu %zu %a %a %zu %zu %zu %d %d", c.compared, c.nans, c.max_diff, c.worst_ratio, r.checked,
                            r.repeated, r.total, int(r.skipped), r.launches);
  for (const std::string& field : {r.note, r.hang, std::to_string(r.problems.size())}) text += BETWEEN + field;
  for (const Fault& f : r.problems) text += BETWEEN + std::string(f.again ? "+" : "-") + f.what;
  for (const std::string& line : r.map) text += BETWEEN + line;
  std::ranges::replace(text, '\n', NEW_LINE);
  return text;
}

CaseResult result_of(std::string text, const Case& test) {
  std::ranges::replace(text, NEW_LINE, '\n');
  std::istringstream fields(text);
  std::string field;
  const auto next = [&] { return std::getline(fields, field, BETWEEN), field; };
  CaseResult r;
  r.test = test;
  Comparison& c = r.compared;
  int skipped = 0;
  if (std::sscanf(next().c_str(), "%zu %zu %la %la %zu %zu %zu %d %d", &c.compared, &c.nans, &c.max_diff,
                  &c.worst_ratio, &r.checked, &r.repeated, &r.total, &skipped, &r.launches) != 9)
    throw std::runtime_error("a case's result is cut off");
  r.skipped = skipped, r.note = next(), r.hang = next();
  for (int left = std::stoi(next()); left > 0; --left) {
    next();
    r.problems.push_back({{}, field.substr(1), field[0] == '+'});
  }
  while (std::getline(fields, field, BETWEEN)) r.map.push_back(field);
  return r;
}

}  // namespace lab
