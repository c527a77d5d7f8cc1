#include "checks/acceptance/case_run.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "checks/acceptance/cases.hpp"
#include "checks/acceptance/expected.hpp"
#include "checks/acceptance/format.hpp"
#include "checks/acceptance/poisoned.hpp"
#include "checks/acceptance/report.hpp"
#include "checks/acceptance/tolerance.hpp"
#include "common/backend.hpp"
#include "common/gpu_access.hpp"
#include "common/stage.hpp"
#include "common/stage_names.hpp"
#include "common/target.hpp"
#include "reference/attention.hpp"

namespace lab {
namespace {

// Of processor time on the CPU, where the slowest block of a case takes less than one.
constexpr double BLOCK_SECONDS = 10;
constexpr std::size_t MOST_FINDINGS = 2;  // of one launch

struct Run {
  Schedule schedule = Schedule::ascending;
  Copies copies = Copies::at_wait;
  bool gaps = false;
  Fragments fragments = Fragments::measured;
  bool spelled_out = false;
  int multiprocessors = 0;
  Copies products = Copies::at_wait;  // wgmma's
  bool turned = false;                // -q and -scale: the same answer
};

// The first is compared with the oracle, the rest with the first. Two under equal conditions come first: a kernel that
// differs from itself has a race that needs no other schedule. The second has the signs of q and scale turned, which
// changes no bit: so each tile of a stage sees a scale of either sign, and so does each path that some scores take.
constexpr Run RUNS[] = {
    {Schedule::ascending, Copies::at_wait, false},
    {.schedule = Schedule::ascending, .turned = true},
    {Schedule::descending, Copies::at_issue, false},
    {Schedule::round_robin, Copies::at_wait, true, Fragments::other, true, 0, Copies::at_issue},
    {Schedule::random, Copies::at_issue, false, Fragments::measured, false, 0, Copies::random},
    // A loader that runs between an early copy and a late product finds the slot that was given back too soon.
    {Schedule::round_robin, Copies::at_issue},
};
constexpr std::size_t EQUAL_RUNS = 2;
// A reduction lane by lane takes five times as long as in one step, and one that is wrong is wrong in every case: each
// third spells them out. With turns=1 each fourth has that run.
constexpr std::size_t SPELLED_OUT_EVERY = 3;
// For launchers that count multiprocessors, on cases whose tiles all run: few of them mean other tiles, and blocks with
// more than one piece of work, in which a lane that comes late can find its slot in use again. Other tiles round
// differently, so the oracle judges.
constexpr Run FEW_MULTIPROCESSORS{.schedule = Schedule::leaders, .copies = Copies::at_issue, .multiprocessors = 2};

std::string text(const Run& run) {
  if (!can_schedule())
    return run.multiprocessors ? format("launch, %d multiprocessors", run.multiprocessors)
           : run.turned        ? "signs of q and scale turned"
                               : "launch";
  return format("schedule %s%s, copies %s%s", name(run.schedule), run.schedule == Schedule::random ? " (seed 1)" : "",
                name(run.copies),
                run.multiprocessors ? format(", %d multiprocessors", run.multiprocessors).c_str()
                : run.gaps          ? ", gaps between shared arrays, another fragment layout"
                                    : "") +
         (run.turned ? ", signs of q and scale turned" : "") + (run.spelled_out ? ", reductions lane by lane" : "") +
         (stage_target().only_there && run.products != Copies::at_wait ? format(", products %s", name(run.products))
                                                                       : "");
}

Shape tensors_of(const Case& test) {
  Shape shape = test.shape;
  if (test.group == Group::far) shape.B = shape.H = 1;
  return shape;
}

// Drawing millions of normal numbers takes longer than checking a sample of tiles: only the heads that run have any,
// and where those are the same with and without the causal mask, so are the inputs.
const Inputs& inputs_of(const Case& test, const std::vector<std::uint32_t>& heads) {
  static Case cached{};
  static std::vector<std::uint32_t> cached_heads;
  static Inputs inputs;
  Case key = test;
  key.shape = tensors_of(test);
  key.shape.causal = false;
  if (inputs.q.empty() || key.shape != cached.shape || key.family != cached.family || key.seed != cached.seed ||
      key.amplitude != cached.amplitude || heads != cached_heads) {
    inputs = make_inputs(key.family, key.shape, key.seed, heads, key.amplitude);
    cached = key, cached_heads = heads;
  }
  return inputs;
}

class CaseRun {
 public:
  CaseRun(const Case& test, std::size_t number, const AcceptanceOptions& options)
      : options_(options),
        number_(number),
        shape_(tensors_of(test)),
        plan_(plan_for(test)),
        tiling_(shape_, plan_),
        coverage_(coverage(test, tiling_, options)),
        inputs_(inputs_of(test, heads_that_run(coverage_, tiling_))),
        tensors_(std::make_unique<Poisoned>(inputs_)),
        first_block_(Tiling(test.shape, plan_).tiles() - tiling_.tiles()),
        scale_(scale_of(test)) {
    result_.test = test;
  }

  CaseResult run() {
    if (result_.test.group == Group::far && !can_schedule()) {
      result_.skipped = true;
      result_.note = "a GPU runs every block, and the heads before the last have no memory";
      return result_;
    }
    launch_all();
    std::ranges::stable_sort(problems_, {}, &Fault::tells);
    result_.problems = problems_;
    return result_;
  }

 private:
  void launch_all() {
    const Shape& asked = result_.test.shape;
    const dim3 grid = plan_.grid;
    if (grid.x != tiling_.tiles_per_head || grid.y != unsigned(asked.H) || grid.z != unsigned(asked.B)) {
      problem(Tells::failure, format("the plan's grid (%u,%u,%u) is not (query tiles, heads, batch) = (%u,%d,%d)",
                                     grid.x, grid.y, grid.z, tiling_.tiles_per_head, asked.H, asked.B));
      return;
    }
    const auto& [checked, repeated] = coverage_;
    result_.tiles_total = tiling_.tiles() + first_block_;
    result_.tiles_checked = checked.size();
    result_.tiles_repeated = repeated.size();

    const std::size_t runs = repeated.empty() || options_.once ? 1 : can_schedule() ? std::size(RUNS) : EQUAL_RUNS;
    // The notes' shapes are repeated under all, whatever was asked for.
    const bool by_turns = options_.turns || result_.test.group == Group::tiles;
    const bool one = by_turns && runs > EQUAL_RUNS && result_.test.group != Group::notes;
    const std::size_t turn = 1 + number_ % (std::size(RUNS) - 1);
    std::vector<fp16> first;
    for (std::size_t i = 0; i < runs; ++i) {
      if (one && i > 0 && i != turn) continue;
      const auto& tiles = i == 0 ? checked : repeated;
      Run run = RUNS[i];
      if (!options_.turns && number_ % SPELLED_OUT_EVERY) run.spelled_out = false;
      std::vector<fp16> output;
      if (!launch(run, tiles, output)) break;  // the next launch would only say it again
      if (i == 0) {
        compare_with_oracle(output, tiles);
        first = std::move(output);
        if (options_.quick && !green()) break;
      } else {
        compare_with_first(run, output, first, tiles);
      }
    }
    if (plan_.counts_multiprocessors && result_.test.multiprocessors == 0 && checked.size() == result_.tiles_total &&
        green()) {
      std::vector<fp16> output;
      if (launch(FEW_MULTIPROCESSORS, checked, output)) compare_with_oracle(output, checked);
    }
    if (!can_schedule() && result_.test.group == Group::notes && green()) measure(first);
  }

  bool green() const { return problems_.empty(); }

  // Says `what` once, however many of the case's launches show it.
  void problem(Tells tells, const std::string& what, const Run* run = nullptr, bool again = false) {
    if (std::ranges::find(said_, what) != said_.end()) return;
    said_.push_back(what);
    problems_.push_back({tells, run ? what + " [" + text(*run) + "]" : what, again});
  }

  // Everything that a launch says without the right answer being known. False if nothing ran.
  bool launch(const Run& run, const std::vector<std::uint32_t>& tiles, std::vector<fp16>& output) {
    ExecOptions options;
    options.schedule = run.schedule;
    options.copies = run.copies, options.products = run.products;
    options.gaps = run.gaps;
    options.fragments = run.fragments;
    options.spelled_out = run.spelled_out;
    options.multiprocessors = run.multiprocessors ? run.multiprocessors : result_.test.multiprocessors;
    options.block_seconds = BLOCK_SECONDS;
    if (tiles.size() < tiling_.tiles() + first_block_) options.blocks = tiles;
    for (std::uint32_t& tile : options.blocks) tile += first_block_;
    const bool counted = can_schedule() && options.multiprocessors == 0;
    options.blocks = plan_.blocks_of(options.blocks, result_.test.shape);
    ++result_.launches;
    Ran ran = tensors_->launch(result_.test.shape, scale_, {options, 0, run.turned});
    if (ran.still_runs()) {
      (void)tensors_.release();  // its destructor would wait for the kernel
      throw StillRuns(text(result_.test));
    }
    if (ran.report.hang.deadlock) result_.hang = data_of(ran.report.hang.waits.at(0));
    std::size_t findings = 0;
    for (const Fault& fault : faults_of(ran, counted ? tiles.size() * plan_.parts : 0))
      if (fault.tells != Tells::finding || ++findings <= MOST_FINDINGS)
        problem(fault.tells, fault.what, &run, fault.again);
    if (findings > MOST_FINDINGS)
      problem(Tells::finding, format("and %zu more findings", findings - MOST_FINDINGS), &run);
    if (!ran.ok()) return false;
    if (const std::string strays = written_elsewhere(shape_, tiling_.row_blocks(tiles), ran.out);
        can_schedule() && !strays.empty())
      problem(Tells::stray_write, strays, &run);
    output = std::move(ran.out);
    return true;
  }

  bool may_be_nan(int head, int row, int col) const;
  Expected expected_rows(const std::vector<RowBlock>& rows) const;
  void compare_with_oracle(const std::vector<fp16>& output, const std::vector<std::uint32_t>& tiles);
  void compare_with_first(const Run& run, const std::vector<fp16>& output, const std::vector<fp16>& first,
                          const std::vector<std::uint32_t>& tiles);
  void measure(const std::vector<fp16>& first);

  const AcceptanceOptions& options_;
  std::size_t number_;  // of the case, for turns
  Shape shape_;         // of the tensors: the case's, or of Group::far its last head's
  LaunchPlan plan_;
  Tiling tiling_;
  Coverage coverage_;
  const Inputs& inputs_;
  std::unique_ptr<Poisoned> tensors_;
  std::uint32_t first_block_;  // of the tensors: heads before them have addresses alone
  float scale_;
  std::vector<std::string> said_;
  std::vector<Fault> problems_;
  CaseResult result_{};
};

// A NaN or infinity in V of a key that the row does not see: its weight of 0 times that is NaN where the tile's product
// takes it along. The dense formula with a mask does so too; the oracle, which never touches such a key, does not. Both
// are right. And early stages are known to make NaN of a first tile without a score.
bool CaseRun::may_be_nan(int head, int row, int col) const {
  const Special s = special_of(head, shape_);
  if (plan_.empty_tile_is_nan && s.value == INFINITY && s.rows >= plan_.tile_n) return true;
  return s.tensor == 'v' && s.col == col && s.row >= visible_keys(shape_, row);
}

// One element off by more than its bound makes the case red. NaN is within a bound only where the oracle has NaN.
void CaseRun::compare_with_oracle(const std::vector<fp16>& output, const std::vector<std::uint32_t>& tiles) {
  const std::vector<RowBlock> rows = tiling_.row_blocks(tiles);
  Holding holding;
  if (result_.test.family == Family::special)
    holding.to = [&](int head, int row, int col) {
      return may_be_nan(head, row, col) ? Held::bound_or_nan : Held::bound;
    };
  compare(shape_, rows, output, expected_rows(rows), result_.compared, holding);
  for (const std::string& line : lines_of(result_.compared)) problem(Tells::numbers, line);
}

Expected CaseRun::expected_rows(const std::vector<RowBlock>& rows) const {
  if (result_.test.group != Group::notes) return expected(shape_, scale_, inputs_, rows, plan_.half_p);
  std::vector<double> value = attention(shape_, scale_, inputs_.q, inputs_.k, inputs_.v, rows);
  std::vector<double> allowed(value.size(), NOTES_TOLERANCE);
  return {std::move(value), std::move(allowed)};
}

void CaseRun::compare_with_first(const Run& run, const std::vector<fp16>& output, const std::vector<fp16>& first,
                                 const std::vector<std::uint32_t>& tiles) {
  const auto [compared, others, where] = differing(shape_, tiling_.row_blocks(tiles), output, first);
  if (others == 0) return;
  const std::string bug = *planted_bug() ? std::string(" bug=") + planted_bug() : "";
  problem(Tells::race,
          format("%s: differs from the first launch in %zu of %zu elements, first at %s: %s, was %s",
                 (run.turned ? std::string("not the same with -q and -scale, or not repeatable")
                             : std::string("not repeatable (make stage=") + short_stage_name(stage().name) + bug +
                                   " racecheck names the race)")
                     .c_str(),
                 others, compared, place_of(shape_, where).c_str(), number(to_float(output[where])).c_str(),
                 number(to_float(first[where])).c_str()),
          &run);
}

// Median of ten groups of launches, the L2 cache warm. Small launches are over before the next one is queued,
// so what they show includes launch overhead.
void CaseRun::measure(const std::vector<fp16>& first) {
  constexpr int TIMED = 10, LAUNCHES = 20;
  const ExclusiveGpu exclusive;
  const AttentionArgs args = tensors_->args(result_.test.shape, scale_);
  cudaEvent_t start, stop;
  check_cuda(cudaEventCreate(&start), "cudaEventCreate");
  check_cuda(cudaEventCreate(&stop), "cudaEventCreate");
  std::vector<double> times;
  for (int group = -1; group < TIMED; ++group) {  // group -1 warms up
    check_cuda(cudaEventRecord(start), "cudaEventRecord");
    for (int i = 0; i < LAUNCHES; ++i) check_cuda(stage().launch(args), "a timed launch");
    check_cuda(cudaEventRecord(stop), "cudaEventRecord");
    check_cuda(cudaEventSynchronize(stop), "the timed launches");
    float milliseconds = 0;
    check_cuda(cudaEventElapsedTime(&milliseconds, start, stop), "cudaEventElapsedTime");
    if (group >= 0) times.push_back(1000.0 * milliseconds / LAUNCHES);
  }
  check_cuda(cudaEventDestroy(start), "cudaEventDestroy");
  check_cuda(cudaEventDestroy(stop), "cudaEventDestroy");
  std::ranges::sort(times);
  result_.microseconds = (times[TIMED / 2 - 1] + times[TIMED / 2]) / 2;
  if (tensors_->output() != first) problem(Tells::race, "the output changed while it was timed");
}

}  // namespace

CaseResult run_case(const Case& test, std::size_t number, const AcceptanceOptions& options) {
  return CaseRun(test, number, options).run();
}

}  // namespace lab
