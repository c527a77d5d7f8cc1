#include "checks/acceptance/acceptance.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <random>
#include <span>
#include <string_view>

#include "checks/acceptance/device_tensors.hpp"
#include "checks/acceptance/report.hpp"
#include "checks/acceptance/tolerance.hpp"
#include "checks/commands.hpp"
#include "common/backend.hpp"
#include "common/stage.hpp"
#include "reference/attention.hpp"

namespace lab {
namespace {

// --- the cases -------------------------------------------------------------------------------------------

constexpr Shape NOTES_SHAPES[] = {{1, 8, 512, 64, false},
                                  {1, 8, 512, 64, true},
                                  {2, 8, 2048, 64, false},
                                  {2, 8, 2048, 64, true},
                                  {2, 8, 2048, 128, false}};
constexpr int RAGGED_LENGTHS[] = {1, 15, 16, 17, 63, 64, 65, 100, 127, 129, 500, 513};

std::vector<Case> all_cases(std::uint64_t seed) {
  std::vector<Case> cases;
  for (const Shape& shape : NOTES_SHAPES) cases.push_back({Group::notes, shape, Family::notes, seed});
  for (const Family family : {Family::unit, Family::peaked, Family::offset, Family::impulse})
    for (const Shape& shape : NOTES_SHAPES)
      if (family != Family::impulse || shape.S <= 512) cases.push_back({Group::families, shape, family, seed});
  for (const int D : {64, 128})
    for (const int S : RAGGED_LENGTHS)
      for (const bool causal : {false, true}) {
        // Both B and H above 1 tell their strides apart; where that costs too much, they take turns.
        Shape shape{3, 5, S, D, causal};
        if (S > 129) (S % 2 ? shape.B : shape.H) = 1;
        cases.push_back({Group::ragged, shape, Family::unit, seed});
      }
  return cases;
}

// --- which query tiles of a case run, and at what cost -----------------------------------------------------

// A cost of 1 is a 64-row tile at S=2048, D=64: 40 ms (v1) to 90 ms (v2b) of a core on the CPU backend. What
// a case may spend unless full=1: the mission shape runs whole on the notes' inputs.
constexpr double NOTES_COST = 17, CHECKED_COST = 6;  // the launch that the oracle checks
constexpr double REPEATED_COST = 0.5;                // each later one, compared bit by bit
constexpr std::size_t FEWEST_CHECKED = 4, FEWEST_REPEATED = 1;

// A stage's grid as the harness understands it: block (x,y,z) owns rows [x*tile_m, (x+1)*tile_m) of head y,
// batch z.
struct Tiling {
  Shape shape;
  int tile_m;
  std::uint32_t tiles_per_head;

  std::uint32_t tiles() const { return tiles_per_head * std::uint32_t(shape.H) * std::uint32_t(shape.B); }
  // Rows are counted over the whole [B, H, S].
  std::size_t first_row(std::uint32_t tile) const {
    return std::size_t(tile / tiles_per_head) * shape.S + std::size_t(tile % tiles_per_head) * tile_m;
  }
  std::size_t rows(std::uint32_t tile) const {
    return std::min(std::size_t(tile_m), shape.S - std::size_t(tile % tiles_per_head) * tile_m);
  }
  double tile_cost() const { return tile_m / 64.0 * shape.S / 2048.0 * shape.D / 64.0 * (shape.causal ? 0.5 : 1); }
};

Tiling tiling(const Shape& shape, const LaunchPlan& plan) {
  return {shape, plan.tile_m, std::uint32_t((shape.S + plan.tile_m - 1) / plan.tile_m)};
}

// `count` of `total`, ascending: one at random from each of `count` equal runs, so that they spread over
// heads and batches; the last is always among them, and the first if there are two.
std::vector<std::uint32_t> sample(std::uint32_t total, std::size_t count, std::uint64_t seed) {
  count = std::min<std::size_t>(count, total);
  std::mt19937_64 random(seed);
  std::vector<std::uint32_t> chosen;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t from = total * i / count, to = total * (i + 1) / count;
    chosen.push_back(std::uint32_t(i + 1 == count ? total - 1 : i == 0 ? 0 : from + random() % (to - from)));
  }
  return chosen;
}

struct Coverage {
  std::vector<std::uint32_t> checked, repeated;  // linear block indices; the second are some of the first
};

Coverage coverage(const Case& test, const Tiling& tiling, bool full) {
  const auto some_of = [&](std::uint32_t total, double cost, std::size_t fewest) {
    return sample(total, std::max(fewest, std::size_t(cost / tiling.tile_cost())), test.seed);
  };
  Coverage c;
  c.checked = full ? sample(tiling.tiles(), tiling.tiles(), test.seed)
                   : some_of(tiling.tiles(), test.group == Group::notes ? NOTES_COST : CHECKED_COST, FEWEST_CHECKED);
  if (!can_schedule()) {
    c.repeated = c.checked;  // a GPU runs every tile each time
    return c;
  }
  // Even full=1 repeats a sample only, a larger one: all schedules on all tiles would take an hour.
  for (const std::uint32_t i :
       some_of(std::uint32_t(c.checked.size()), full ? CHECKED_COST : REPEATED_COST, FEWEST_REPEATED))
    c.repeated.push_back(c.checked[i]);
  return c;
}

// In units of tile_cost: four repeats, of which the random schedule takes about as long as three.
double case_cost(const Case& test, bool full) {
  const Tiling t = tiling(test.shape, stage().plan(test.shape));
  const Coverage c = coverage(test, t, full);
  return (double(c.checked.size()) + 6.0 * double(c.repeated.size())) * t.tile_cost();
}

// --- launches ----------------------------------------------------------------------------------------------

struct Run {
  Schedule schedule = Schedule::ascending;
  Copies copies = Copies::at_wait;
  bool gaps = false;
  Fragments fragments = Fragments::measured;
};

// The first is compared with the oracle, the rest with the first. Two equal ones come first: a kernel that
// differs from itself has a race that needs no other schedule.
constexpr Run RUNS[] = {
    {Schedule::ascending, Copies::at_wait, false},   {Schedule::ascending, Copies::at_wait, false},
    {Schedule::descending, Copies::at_issue, false}, {Schedule::round_robin, Copies::at_wait, true, Fragments::other},
    {Schedule::random, Copies::at_issue, false},
};
constexpr std::size_t EQUAL_RUNS = 2;

std::string text(const Run& run) {
  if (!can_schedule()) return "launch";
  return format("schedule %s%s, copies %s%s", name(run.schedule), run.schedule == Schedule::random ? " (seed 1)" : "",
                name(run.copies), run.gaps ? ", gaps between shared arrays, another fragment layout" : "");
}

std::string number(float x) { return std::isnan(x) ? "NaN" : format("%.6g", x); }  // a NaN's sign says nothing

std::string error_text(cudaError_t error) {
  return format("%s (%s)", cudaGetErrorName(error), cudaGetErrorString(error));
}

// Inputs of a case are the same with and without the causal mask; drawing millions of normal numbers takes
// longer than checking a sample of tiles.
const Inputs& inputs_of(const Case& test) {
  static Case cached{};
  static Inputs inputs;
  Case key = test;
  key.shape.causal = false;
  if (inputs.q.empty() || key.shape != cached.shape || key.family != cached.family || key.seed != cached.seed) {
    inputs = make_inputs(key.family, key.shape, key.seed);
    cached = key;
  }
  return inputs;
}

class CaseRun {
 public:
  CaseRun(const Case& test, const AcceptanceOptions& options)
      : shape_(test.shape),
        full_(options.full),
        quick_(options.quick),
        inputs_(inputs_of(test)),
        plan_(stage().plan(shape_)),
        tiling_(tiling(shape_, plan_)),
        q_(inputs_.q),
        k_(inputs_.k),
        v_(inputs_.v),
        out_(shape_.elements()) {
    result_.test = test;
    args_ = {q_.data(), k_.data(), v_.data(), out_.data(), shape_, 1.0f / std::sqrt(float(shape_.D)), nullptr};
  }

  CaseResult run() {
    const dim3 grid = plan_.grid;
    if (grid.x != tiling_.tiles_per_head || grid.y != unsigned(shape_.H) || grid.z != unsigned(shape_.B)) {
      problem(format("the plan's grid (%u,%u,%u) is not (query tiles, heads, batch) = (%u,%d,%d)", grid.x, grid.y,
                     grid.z, tiling_.tiles_per_head, shape_.H, shape_.B));
      return result_;
    }
    const auto [checked, repeated] = coverage(result_.test, tiling_, full_);
    result_.tiles_total = tiling_.tiles();
    result_.tiles_checked = checked.size();
    result_.tiles_repeated = repeated.size();

    const std::size_t runs = can_schedule() ? std::size(RUNS) : EQUAL_RUNS;
    std::vector<fp16> first;
    for (std::size_t i = 0; i < runs; ++i) {
      const auto& tiles = i == 0 ? checked : repeated;
      std::vector<fp16> output;
      if (!launch(RUNS[i], tiles, output)) break;  // the next launch would only say it again
      if (i == 0) {
        compare_with_oracle(output, tiles);
        first = std::move(output);
        if (quick_ && !result_.green()) break;
      } else {
        compare_with_first(RUNS[i], output, first, tiles);
      }
    }
    if (!can_schedule() && result_.test.group == Group::notes && result_.green()) measure(first);
    return result_;
  }

 private:
  // Says `what` once, however many of the case's launches show it.
  void problem(const std::string& what, const Run* run = nullptr) {
    if (std::ranges::find(said_, what) != said_.end()) return;
    said_.push_back(what);
    result_.problems.push_back(run ? what + " [" + text(*run) + "]" : what);
  }

  // One launch into poison, and everything that can be said without knowing the right answer. False if
  // nothing ran.
  bool launch(const Run& run, const std::vector<std::uint32_t>& tiles, std::vector<fp16>& output) {
    ExecOptions options;
    options.schedule = run.schedule;
    options.copies = run.copies;
    options.gaps = run.gaps;
    options.fragments = run.fragments;
    if (tiles.size() < tiling_.tiles()) options.blocks = tiles;
    set_exec_options(options);
    out_.poison();
    cudaGetLastError();
    take_exec_report();

    ++result_.launches;
    poison_shared_memory();
    const cudaError_t returned = stage().launch(args_);
    const cudaError_t last = cudaGetLastError();
    const cudaError_t ran = cudaDeviceSynchronize();
    const ExecReport report = take_exec_report();
    const std::string message = report.message.empty() ? "" : ": " + report.message;
    if (returned != cudaSuccess)
      problem("launch refused: " + error_text(returned) + message, &run);
    else if (last != cudaSuccess)
      problem("launch() returned success, but cudaGetLastError() " + error_text(last) + message, &run);
    else if (ran != cudaSuccess)
      problem("kernel failed: " + error_text(ran) + message, &run);
    else if (!message.empty())
      problem("no error code, yet the backend says" + message, &run);
    for (std::size_t i = 0; i < report.findings.size() && i < 2; ++i) problem(report.findings[i].text, &run);
    if (report.findings.size() > 2) problem(format("and %zu more findings", report.findings.size() - 2), &run);
    if (returned != cudaSuccess || last != cudaSuccess || ran != cudaSuccess) return false;
    if (can_schedule() && report.blocks_run != tiles.size())
      problem(format("%llu blocks ran, not the %zu asked for", (unsigned long long)report.blocks_run, tiles.size()),
              &run);

    std::string damage;
    output = out_.download(damage);
    if (!damage.empty()) problem("wrote outside the output, " + damage, &run);
    check_input("q", q_, inputs_.q, run);
    check_input("k", k_, inputs_.k, run);
    check_input("v", v_, inputs_.v, run);
    if (can_schedule()) check_poison(run, output, tiles);
    return true;
  }

  void check_input(const char* name, const DeviceTensor& tensor, const std::vector<fp16>& original, const Run& run) {
    std::string damage;
    const auto now = tensor.download(damage);
    if (!damage.empty()) problem(format("wrote outside its input %s, %s", name, damage.c_str()), &run);
    if (now != original) problem(format("changed its input %s", name), &run);
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
      problem(format("%zu elements written that belong to blocks that did not run, first in row %zu of [B*H*S]",
                     written, first),
              &run);
  }

  std::vector<double> oracle(const std::vector<fp16>& v, const std::vector<std::uint32_t>& tiles) const;
  void compare_with_oracle(const std::vector<fp16>& output, const std::vector<std::uint32_t>& tiles);
  void compare_with_first(const Run& run, const std::vector<fp16>& output, const std::vector<fp16>& first,
                          const std::vector<std::uint32_t>& tiles);
  void measure(const std::vector<fp16>& first);

  Shape shape_;
  bool full_, quick_;
  const Inputs& inputs_;
  LaunchPlan plan_;
  Tiling tiling_;
  DeviceTensor q_, k_, v_, out_;
  AttentionArgs args_;
  std::vector<std::string> said_;
  CaseResult result_{};
};

// Length of the longest row of a [rows, D] tensor: the norms that bound a row's scores (tolerance.hpp, point
// 1).
double longest_row(std::span<const fp16> rows, int D) {
  double longest = 0;
  for (std::size_t begin = 0; begin < rows.size(); begin += std::size_t(D)) {
    double squares = 0;
    for (const fp16 x : rows.subspan(begin, std::size_t(D))) squares += double(to_float(x)) * to_float(x);
    longest = std::max(longest, squares);
  }
  return std::sqrt(longest);
}

// One element off by more than its bound makes the case red; NaN is never within a bound.
void CaseRun::compare_with_oracle(const std::vector<fp16>& output, const std::vector<std::uint32_t>& tiles) {
  const std::size_t D = std::size_t(shape_.D), S = std::size_t(shape_.S);
  const std::vector<double> ref = oracle(inputs_.v, tiles);
  const bool notes = result_.test.group == Group::notes;
  std::vector<double> mean_abs_v;
  double max_abs_v = 0;
  if (!notes) {
    std::vector<fp16> abs_v = inputs_.v;
    for (fp16& x : abs_v) {
      x.bits &= 0x7FFF;
      max_abs_v = std::max(max_abs_v, double(to_float(x)));
    }
    mean_abs_v = abs_v == inputs_.v ? ref : oracle(abs_v, tiles);
  }

  std::size_t poison = 0,
              at = 0;  // `at` walks the oracle's elements, which hold the checked rows only
  std::size_t longest_k_of = std::size_t(-1);
  double longest_k = 0;
  for (const std::uint32_t tile : tiles) {
    const std::size_t first_row = tiling_.first_row(tile), head = first_row / S;
    if (!notes && head != longest_k_of) {
      longest_k = longest_row(std::span(inputs_.k).subspan(head * S * D, S * D), shape_.D);
      longest_k_of = head;
    }
    for (std::size_t row = first_row; row < first_row + tiling_.rows(tile); ++row) {
      RowError bound;
      if (!notes) {
        const double score = args_.scale * longest_row(std::span(inputs_.q).subspan(row * D, D), shape_.D) * longest_k;
        bound = row_error(shape_.D, visible_keys(shape_, int(row % S)), score, plan_.half_p);
      }
      for (std::size_t col = 0; col < D; ++col, ++at) {
        const fp16 bits = output[row * D + col];
        const float got = to_float(bits);
        const double diff = std::abs(got - ref[at]);
        const double allowed =
            notes ? NOTES_TOLERANCE : allowed_error(bound, std::abs(ref[at]), mean_abs_v[at], max_abs_v);
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
  problem(format("%zu of %zu elements outside the bound%s", result_.differing, result_.compared, nans.c_str()));
  problem(format("worst (b,h,row,col) = (%d,%d,%d,%d): got %s, expected %.6g, allowed +-%.3g", w.b, w.h, w.row, w.col,
                 number(w.got).c_str(), w.expected, w.allowed));
}

// The oracle's rows for these tiles, one after the other.
std::vector<double> CaseRun::oracle(const std::vector<fp16>& v, const std::vector<std::uint32_t>& tiles) const {
  std::vector<RowBlock> blocks;
  for (const std::uint32_t tile : tiles) {
    const int first = int(tile % tiling_.tiles_per_head) * tiling_.tile_m;
    blocks.push_back({int(tile / tiling_.tiles_per_head), first, int(tiling_.rows(tile))});
  }
  return attention(shape_, args_.scale, inputs_.q, inputs_.k, v, blocks);
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
  problem(format("not repeatable: differs from the first launch in %zu of %zu elements, first at (b,h,row,col) = "
                 "(%zu,%zu,%zu,%zu): %s, was %s",
                 differing, compared, row / shape_.S / shape_.H, row / shape_.S % shape_.H, row % shape_.S, where % D,
                 number(to_float(output[where])).c_str(), number(to_float(first[where])).c_str()),
          &run);
}

// Median of ten groups of launches, the L2 cache warm. Small launches are over before the next one is queued,
// so what they show includes launch overhead.
void CaseRun::measure(const std::vector<fp16>& first) {
  constexpr int GROUPS = 10, LAUNCHES = 20;
  cudaEvent_t start, stop;
  check_cuda(cudaEventCreate(&start), "cudaEventCreate");
  check_cuda(cudaEventCreate(&stop), "cudaEventCreate");
  std::vector<double> times;
  for (int group = -1; group < GROUPS; ++group) {  // group -1 warms up
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
  result_.microseconds = (times[GROUPS / 2 - 1] + times[GROUPS / 2]) / 2;
  if (out_.download() != first) problem("the output changed while it was timed");
}

// --- doctest drives it -------------------------------------------------------------------------------------

struct Session {
  AcceptanceOptions options;
  std::vector<Case> cases;
  Report report;
  Progress progress;
};
Session* session = nullptr;  // doctest's test cases take no arguments

bool run_and_report(const Case& test) {
  CaseResult result;
  result.test = test;
  session->progress.start(test);
  try {
    result = CaseRun(test, session->options).run();
  } catch (const std::exception& e) {
    result.problems.push_back(std::string("the harness could not go on: ") + e.what());
  }
  session->progress.finish(case_cost(test, session->options.full));
  session->report.add(result);
  return result.green();
}

void run_group(Group group) {
  for (const Case& test : session->cases)
    if (test.group == group) CHECK(run_and_report(test));
}

TEST_SUITE_BEGIN("acceptance");
TEST_CASE("whole: the shapes of the notes") { run_group(Group::notes); }
TEST_CASE("whole: inputs that tell a wrong kernel") { run_group(Group::families); }
TEST_CASE("whole: ragged lengths") { run_group(Group::ragged); }
TEST_CASE("quick: every case, the cheapest first, until one is red") {
  std::ranges::stable_sort(session->cases, {}, [](const Case& c) { return case_cost(c, session->options.full); });
  if (const std::size_t most = session->options.cheapest; most && most < session->cases.size())
    session->cases.resize(most);
  for (const Case& test : session->cases) REQUIRE(run_and_report(test));
}
TEST_SUITE_END();

}  // namespace

int run_acceptance(const AcceptanceOptions& options) {
  std::vector<Case> cases = all_cases(options.seed);
  double cost = 0;
  for (const Case& test : cases) cost += case_cost(test, options.full);
  Session current{options, cases, Report(options), Progress(cases.size(), cost, options.full)};
  session = &current;

  doctest::Context context;
  context.addFilter("test-suite", "acceptance");
  context.addFilter("test-case", options.quick ? "quick:*" : "whole:*");
  context.setOption("order-by", "file");
  context.setOption("quiet", true);  // the report is ours; doctest's own summary must not end it
  const int status = context.run();
  set_exec_options({});
  session = nullptr;

  current.report.finish();
  // No case at all is no proof, and doctest must agree with the count.
  return status == 0 && current.report.failed() == 0 && current.report.passed() > 0 ? 0 : 1;
}

// lab test [full=1] [quick=1] [cheapest=N] [seed=N]; cheapest= is for machines where all cases would take too long.
int test_command(std::span<char*> args) {
  constexpr std::string_view keys[] = {"full", "quick", "cheapest", "seed"};
  const KeyValues values(args, keys);
  AcceptanceOptions options{values.flag("full"), values.flag("quick"), 0, 1};
  if (const auto cheapest = values.get("cheapest")) {
    const auto [end, error] = std::from_chars(cheapest->data(), cheapest->data() + cheapest->size(), options.cheapest);
    if (error != std::errc() || end != cheapest->data() + cheapest->size() || options.cheapest == 0)
      throw BadInput("cheapest=" + *cheapest + ": must be a whole number of at least 1");
    options.quick = true;
  }
  if (const auto seed = values.get("seed")) {
    const auto [end, error] = std::from_chars(seed->data(), seed->data() + seed->size(), options.seed);
    if (error != std::errc() || end != seed->data() + seed->size())
      throw BadInput("seed=" + *seed + ": must be a whole number");
  }
  return run_acceptance(options);
}

}  // namespace lab
