#include "checks/acceptance/case_run.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "checks/acceptance/cases.hpp"
#include "checks/acceptance/device_tensors.hpp"
#include "checks/acceptance/expected.hpp"
#include "checks/acceptance/format.hpp"
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

// How much a problem says about its cause: the report gives the most telling one first.
enum class Tells { failure, finding, stray_write, changed_input, race, numbers };

std::string number(float x) { return std::isnan(x) ? "NaN" : format("%.6g", x); }  // a NaN's sign says nothing

std::string error_text(cudaError_t error) {
  return format("%s (%s)", cudaGetErrorName(error), cudaGetErrorString(error));
}

Shape tensors_of(const Case& test) {
  Shape shape = test.shape;
  if (test.group == Group::far) shape.B = shape.H = 1;
  return shape;
}

const half* shifted(const half* tensor, std::size_t elements) {  // no object lies there: not for pointer arithmetic
  return reinterpret_cast<const half*>(reinterpret_cast<std::uintptr_t>(tensor) - elements * sizeof(half));
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
        q_(inputs_.q),
        k_(inputs_.k),
        v_(inputs_.v),
        out_(shape_.elements()) {
    result_.test = test;
    args_ = {q_.data(), k_.data(), v_.data(), out_.data(), test.shape, scale_of(test), nullptr};
    if (test.group != Group::far) return;
    // The heads before the last have addresses and no memory: an offset that wraps around at 32 bits faults.
    before_ = test.shape.elements() - shape_.elements();
    first_block_ = Tiling(test.shape, plan_).tiles() - tiling_.tiles();
    args_.q = shifted(q_.data(), before_), args_.k = shifted(k_.data(), before_), args_.v = shifted(v_.data(), before_);
    args_.out = const_cast<half*>(shifted(out_.data(), before_));
  }

  CaseResult run() {
    if (result_.test.group == Group::far && !can_schedule()) {
      result_.skipped = true;
      result_.note = "a GPU runs every block, and the heads before the last have no memory";
      return result_;
    }
    launch_all();
    std::ranges::stable_sort(problems_, {}, &Problem::tells);
    for (const Problem& p : problems_) result_.problems.push_back(p.what);
    return result_;
  }

 private:
  void launch_all() {
    const Shape& asked = args_.shape;
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
      set_exec_options({});  // the next case's plan counts again
    }
    if (!can_schedule() && result_.test.group == Group::notes && green()) measure(first);
  }

  bool green() const { return problems_.empty(); }

  // Says `what` once, however many of the case's launches show it.
  void problem(Tells tells, const std::string& what, const Run* run = nullptr) {
    if (std::ranges::find(said_, what) != said_.end()) return;
    said_.push_back(what);
    problems_.push_back({tells, run ? what + " [" + text(*run) + "]" : what});
  }

  // One launch into poison, and everything that can be said without knowing the right answer. False if
  // nothing ran.
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
    options.blocks = plan_.blocks_of(options.blocks, args_.shape);
    set_exec_options(options);
    const ExclusiveGpu exclusive;
    out_.poison();
    cudaGetLastError();
    take_exec_report();

    ++result_.launches;
    poison_shared_memory();
    AttentionArgs args = args_;
    if (run.turned) {
      if (!turned_q_) turned_q_.emplace(inputs_.q);
      args.q = shifted(turned_q_->on_device.data(), before_), args.scale = -args_.scale;
    }
    const cudaError_t returned = stage().launch(args);
    const cudaError_t last = cudaGetLastError();
    const cudaError_t ran = synchronize_within(hang_seconds(args_.shape));
    if (ran == cudaErrorNotReady) throw Hang(text(result_.test));
    const ExecReport report = take_exec_report();
    const std::string message = report.message.empty() ? "" : ": " + report.message;
    if (returned != cudaSuccess)
      problem(Tells::failure, "launch refused: " + error_text(returned) + message, &run);
    else if (last != cudaSuccess)
      problem(Tells::failure, "launch() returned success, but cudaGetLastError() " + error_text(last) + message, &run);
    else if (ran != cudaSuccess)
      problem(Tells::failure, "kernel failed: " + error_text(ran) + message, &run);
    else if (!message.empty())
      problem(Tells::failure, "no error code, yet the backend says" + message, &run);
    for (std::size_t i = 0; i < report.findings.size() && i < 2; ++i)
      problem(Tells::finding, report.findings[i].text, &run);
    if (report.findings.size() > 2)
      problem(Tells::finding, format("and %zu more findings", report.findings.size() - 2), &run);
    if (returned != cudaSuccess || last != cudaSuccess || ran != cudaSuccess) return false;
    if (can_schedule() && options.multiprocessors == 0 && report.blocks_run != tiles.size() * plan_.parts)
      problem(Tells::failure,
              format("%llu blocks ran, not the %zu asked for", (unsigned long long)report.blocks_run,
                     tiles.size() * plan_.parts),
              &run);

    std::string damage;
    output = out_.download(damage);
    if (!damage.empty()) problem(Tells::stray_write, "wrote outside the output, " + damage, &run);
    check_input("q", run.turned ? turned_q_->on_device : q_, run.turned ? turned_q_->values : inputs_.q, run);
    check_input("k", k_, inputs_.k, run);
    check_input("v", v_, inputs_.v, run);
    if (can_schedule()) check_poison(run, output, tiles);
    return true;
  }

  void check_input(const char* name, const DeviceTensor& tensor, const std::vector<fp16>& original, const Run& run) {
    std::string damage;
    const bool same = tensor.holds(original, damage);
    if (!damage.empty())
      problem(Tells::stray_write, format("wrote outside its input %s, %s", name, damage.c_str()), &run);
    if (!same) problem(Tells::changed_input, format("changed its input %s", name), &run);
  }

  // A block must leave the rows of other blocks alone.
  void check_poison(const Run& run, const std::vector<fp16>& output, const std::vector<std::uint32_t>& tiles) {
    std::size_t written = 0, row = 0, first = 0;
    const auto skip_to = [&](std::size_t end) {
      for (; row < end; ++row)
        for (int col = 0; col < shape_.D; ++col)
          if (output[row * shape_.D + col] != FP16_NAN && written++ == 0) first = row;
    };
    for (const std::uint32_t tile : tiles) {
      skip_to(tiling_.first_row(tile));
      row += tiling_.rows(tile);
    }
    skip_to(shape_.rows());
    if (written > 0)
      problem(Tells::stray_write,
              format("%zu elements written that belong to blocks that did not run, first in row %zu of [B*H*S]",
                     written, first),
              &run);
  }

  bool may_be_nan(std::size_t head, int row, int col) const;
  Expected expected_rows(const std::vector<std::uint32_t>& tiles) const;
  void compare_with_oracle(const std::vector<fp16>& output, const std::vector<std::uint32_t>& tiles);
  void compare_with_first(const Run& run, const std::vector<fp16>& output, const std::vector<fp16>& first,
                          const std::vector<std::uint32_t>& tiles);
  void measure(const std::vector<fp16>& first);

  struct Problem {
    Tells tells;
    std::string what;
  };
  struct TurnedSigns {
    explicit TurnedSigns(std::vector<fp16> x) : values(std::move(x)), on_device((turn(), values)) {}
    void turn() {
      for (fp16& x : values) x.bits ^= 0x8000;
    }
    std::vector<fp16> values;
    DeviceTensor on_device;
  };

  const AcceptanceOptions& options_;
  std::size_t number_;             // of the case, for turns
  Shape shape_;                    // of the tensors: the case's, or of Group::far its last head's
  std::size_t before_ = 0;         // elements of the heads before the tensors
  std::uint32_t first_block_ = 0;  // their blocks
  LaunchPlan plan_;
  Tiling tiling_;
  Coverage coverage_;
  const Inputs& inputs_;
  DeviceTensor q_, k_, v_, out_;
  std::optional<TurnedSigns> turned_q_;
  AttentionArgs args_;
  std::vector<std::string> said_;
  std::vector<Problem> problems_;
  CaseResult result_{};
};

// A NaN or infinity in V of a key that the row does not see: its weight of 0 times that is NaN where the tile's product
// takes it along. The dense formula with a mask does so too; the oracle, which never touches such a key, does not. Both
// are right. And early stages are known to make NaN of a first tile without a score.
bool CaseRun::may_be_nan(std::size_t head, int row, int col) const {
  if (result_.test.family != Family::special) return false;
  const Special s = special_of(int(head), shape_);
  if (plan_.empty_tile_is_nan && s.value == INFINITY && s.rows >= plan_.tile_n) return true;
  return s.tensor == 'v' && s.col == col && s.row >= visible_keys(shape_, row);
}

// One element off by more than its bound makes the case red. NaN is within a bound only where the oracle has NaN.
void CaseRun::compare_with_oracle(const std::vector<fp16>& output, const std::vector<std::uint32_t>& tiles) {
  const std::size_t D = std::size_t(shape_.D), S = std::size_t(shape_.S);
  const Expected right = expected_rows(tiles);
  const std::vector<double>& ref = right.value;
  std::size_t poison = 0,
              at = 0;  // `at` walks the oracle's elements, which hold the checked rows only
  for (const std::uint32_t tile : tiles) {
    const std::size_t first_row = tiling_.first_row(tile), head = first_row / S;
    for (std::size_t row = first_row; row < first_row + tiling_.rows(tile); ++row) {
      for (std::size_t col = 0; col < D; ++col, ++at) {
        const fp16 bits = output[row * D + col];
        const float got = to_float(bits);
        if (!std::isfinite(ref[at]) || (std::isnan(got) && may_be_nan(head, int(row % S), int(col)))) {
          ++result_.compared;
          poison += bits == FP16_NAN;
          // What was never written is NaN too, with bits that no conversion gives.
          if (bits == FP16_NAN || (std::isnan(ref[at])      ? !std::isnan(got)
                                   : std::isfinite(ref[at]) ? false
                                                            : got != float(ref[at]))) {
            ++result_.differing;
            result_.nans += std::isnan(got);
            result_.worst_ratio = INFINITY;
            result_.worst = {int(head / std::size_t(shape_.H)),
                             int(head % std::size_t(shape_.H)),
                             int(row % S),
                             int(col),
                             got,
                             ref[at],
                             0};
          }
          continue;
        }
        const double diff = std::abs(got - ref[at]);
        const double allowed = right.allowed[at];
        ++result_.compared;
        poison += bits == FP16_NAN;
        result_.nans += std::isnan(got);
        if (!(diff <= allowed)) ++result_.differing;
        if (diff > result_.max_diff) result_.max_diff = diff;
        const double ratio = std::isnan(got) ? INFINITY : diff / allowed;
        if (!result_.worst || ratio > result_.worst_ratio) {
          result_.worst_ratio = ratio;
          result_.worst = {int(head / std::size_t(shape_.H)),
                           int(head % std::size_t(shape_.H)),
                           int(row % S),
                           int(col),
                           got,
                           ref[at],
                           allowed};
        }
      }
    }
  }
  if (result_.differing == 0) return;
  const WorstElement& w = *result_.worst;
  std::string nans;
  if (result_.nans > 0)
    nans =
        format("; %zu are NaN, %zu of them with the poison's bits (not written, or made of it)", result_.nans, poison);
  problem(Tells::numbers,
          format("%zu of %zu elements outside the bound%s", result_.differing, result_.compared, nans.c_str()));
  problem(Tells::numbers, format("worst (b,h,row,col) = (%d,%d,%d,%d): got %s, expected %.6g, allowed +-%.3g", w.b, w.h,
                                 w.row, w.col, number(w.got).c_str(), w.expected, w.allowed));
}

// The rows of these tiles, one after the other.
Expected CaseRun::expected_rows(const std::vector<std::uint32_t>& tiles) const {
  std::vector<RowBlock> blocks;
  for (const std::uint32_t tile : tiles) {
    const int first = int(tile % tiling_.tiles_per_head) * tiling_.tile_m;
    blocks.push_back({int(tile / tiling_.tiles_per_head), first, int(tiling_.rows(tile))});
  }
  if (result_.test.group != Group::notes) return expected(shape_, args_.scale, inputs_, blocks, plan_.half_p);
  std::vector<double> value = attention(shape_, args_.scale, inputs_.q, inputs_.k, inputs_.v, blocks);
  std::vector<double> allowed(value.size(), NOTES_TOLERANCE);
  return {std::move(value), std::move(allowed)};
}

void CaseRun::compare_with_first(const Run& run, const std::vector<fp16>& output, const std::vector<fp16>& first,
                                 const std::vector<std::uint32_t>& tiles) {
  const std::size_t D = std::size_t(shape_.D);
  std::size_t differing = 0, where = 0, compared = 0;
  for (const std::uint32_t tile : tiles) {
    const std::size_t begin = tiling_.first_row(tile) * D, end = begin + tiling_.rows(tile) * D;
    compared += end - begin;
    for (std::size_t i = begin; i < end; ++i)
      if (output[i] != first[i] && differing++ == 0) where = i;
  }
  if (differing == 0) return;
  const std::size_t row = where / D;
  const std::string bug = *planted_bug() ? std::string(" bug=") + planted_bug() : "";
  problem(Tells::race,
          format("%s: differs from the first launch in %zu of %zu elements, first at "
                 "(b,h,row,col) = "
                 "(%zu,%zu,%zu,%zu): %s, was %s",
                 (run.turned ? std::string("not the same with -q and -scale, or not repeatable")
                             : std::string("not repeatable (make stage=") + short_stage_name(stage().name) + bug +
                                   " racecheck names the race)")
                     .c_str(),
                 differing, compared, row / shape_.S / shape_.H, row / shape_.S % shape_.H, row % shape_.S, where % D,
                 number(to_float(output[where])).c_str(), number(to_float(first[where])).c_str()),
          &run);
}

// Median of ten groups of launches, the L2 cache warm. Small launches are over before the next one is queued,
// so what they show includes launch overhead.
void CaseRun::measure(const std::vector<fp16>& first) {
  constexpr int TIMED = 10, LAUNCHES = 20;
  const ExclusiveGpu exclusive;
  cudaEvent_t start, stop;
  check_cuda(cudaEventCreate(&start), "cudaEventCreate");
  check_cuda(cudaEventCreate(&stop), "cudaEventCreate");
  std::vector<double> times;
  for (int group = -1; group < TIMED; ++group) {  // group -1 warms up
    check_cuda(cudaEventRecord(start), "cudaEventRecord");
    for (int i = 0; i < LAUNCHES; ++i) check_cuda(stage().launch(args_), "a timed launch");
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
  if (out_.download() != first) problem(Tells::race, "the output changed while it was timed");
}

}  // namespace

CaseResult run_case(const Case& test, std::size_t number, const AcceptanceOptions& options) {
  return CaseRun(test, number, options).run();
}

}  // namespace lab
