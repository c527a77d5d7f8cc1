// The acceptance of a backward stage: its cases, each launched once against the oracle and then repeated, and its tables.
// The rest is the forward pass's (checks/acceptance/acceptance.hpp).
#include <algorithm>
#include <cstdio>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "checks/acceptance/overlap.hpp"
#include "checks/acceptance/report.hpp"
#include "checks/backward/cases.hpp"
#include "checks/backward/same_bits.hpp"
#include "checks/backward/trial.hpp"
#include "checks/runner/commands.hpp"
#include "common/gpu_access.hpp"
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

class CaseRun {
 public:
  CaseRun(const Case& test, const AcceptanceOptions& options, bool same_bits)
      : test_(test), options_(options), same_bits_(same_bits) {
    result_.test = test;
  }

  CaseResult run(std::size_t number) {
    const BackwardInputs in =
        make_backward_inputs(test_.family, test_.shape, test_.seed, test_.amplitude, test_.magnitudes);
    const ExpectedBackward right = expected_backward(test_.shape, scale_of(test_), in, backward_stage().half_p);
    if (right.unbounded) result_.note = format("; %zu held to being finite alone", right.unbounded);
    ExecOptions one_by_one;  // in the order of blockIdx, and no block starts while another one waits
    one_by_one.crowded = true;
    const BackwardTrial first = launch(in, one_by_one, "");
    if (first.ok()) result_.compared = compare(first, right, "");
    if (!first.ok() || !result_.green() || options_.once) return result_;
    for (std::size_t i = 0; i < std::size(REPEATS); ++i) {
      if (!options_.full && i != number % std::size(REPEATS)) continue;
      ExecOptions exec;
      exec.schedule = REPEATS[i].schedule, exec.gaps = REPEATS[i].gaps, exec.block_order = REPEATS[i].block_order;
      const std::string how = can_schedule() ? format(" [schedule %s, block order %llu]", name(exec.schedule),
                                                      (unsigned long long)exec.block_order)
                                             : " [repeated]";
      const BackwardTrial again = launch(in, exec, how);
      if (!again.ok()) break;
      if (same_bits_ && !first.same_bits(again))
        problem(Tells::race, "differs from the first launch, and stage.conf says same_bits=\"yes\"" + how);
      if (!same_bits_) compare(again, right, how);
    }
    return result_;
  }

 private:
  void problem(Tells tells, const std::string& what) { result_.problems.push_back({tells, what}); }

  BackwardTrial launch(const BackwardInputs& in, ExecOptions exec, const std::string& how) {
    constexpr double BLOCK_SECONDS = 20;
    exec.block_seconds = BLOCK_SECONDS;
    BackwardTrial t = run_backward(test_.shape, scale_of(test_), in, exec);
    ++result_.launches;
    if (!t.ok()) problem(Tells::failure, t.error() + how);
    for (const std::string& stray : t.stray) problem(Tells::stray_write, stray + how);
    return t;
  }

  Judged compare(const BackwardTrial& trial, const ExpectedBackward& right, const std::string& how) {
    const Judged j = judge(trial, right);
    if (j.good()) return j;
    std::string nans;
    if (j.nans) nans = format("; %zu are NaN, %zu of them with the poison's bits", j.nans, j.poison);
    problem(Tells::numbers,
            format("%zu of %zu gradients outside the bound%s", j.outside, j.compared, nans.c_str()) + how);
    problem(Tells::numbers, "worst: " + j.worst_of_all + how);
    return j;
  }

  const Case& test_;
  const AcceptanceOptions& options_;
  bool same_bits_;
  CaseResult result_;
};

// The gradients, launched beside other problems.
class OverlappingGradients final : public Overlapping {
 public:
  OverlappingGradients(const Shape& shape, std::uint64_t seed, bool same_bits)
      : shape_(shape),
        scale_(float(default_scale(shape.D))),
        same_bits_(same_bits),
        in_(make_backward_inputs(Family::unit, shape, seed)),
        right_(expected_backward(shape, scale_, in_, backward_stage().half_p)),
        tensors_(shape, scale_, in_, true) {}
  cudaError_t launch(cudaStream_t stream) override { return tensors_.launch(stream); }
  void poison() override { tensors_.poison(); }
  std::string wrong() override {
    BackwardTrial t;
    t.shape = shape_, t.scale = scale_;
    tensors_.fetch(t);
    const Judged j = judge(t, right_);
    std::string what = !t.stray.empty() ? t.stray.front() : j.good() ? "" : "worst: " + j.worst_of_all;
    if (!first_) first_ = t;
    if (what.empty() && same_bits_ && !first_->same_bits(t)) what = "other bits than at first";
    return what.empty() ? "" : text(shape_) + ": " + what;
  }
  double seconds() const override { return BACKWARD_PRODUCTS * hang_seconds(shape_); }

 private:
  Shape shape_;
  float scale_;
  bool same_bits_;
  BackwardInputs in_;
  ExpectedBackward right_;
  BackwardTensors tensors_;
  std::optional<BackwardTrial> first_;
};

class BackwardReport : public Report {
 public:
  // `same_bits` is what stage.conf claims.
  BackwardReport(const AcceptanceOptions& options, std::size_t cases, bool same_bits)
      : Report(options,
               {.shape_width = 15,
                .most_detailed = cases,
                .titles = {"Shapes of the notes: |out - ref| <= allowed (checks/backward/expected.hpp)",
                           "Inputs that tell a wrong kernel: the same bound",
                           "Ragged lengths, odd B and H: the same bound", "Other scales than 1/sqrt(D): the same bound",
                           "Large q and k, as far as the bound of first order goes; v and dO up to the largest half",
                           "One NaN or infinity in q, k or v of each head: where the definition has them, or zero "
                           "times them",
                           "", "", "Launches that overlap: each right beside the other, and alone afterwards"}}) {
    std::printf(
        "%zu cases; every block runs. Each is launched once against the oracle, then repeated %s, %s.%s\n", cases,
        !can_schedule() ? "once"
        : options.full  ? "under four schedules"
                        : "under one of four schedules by turns",
        same_bits ? "with the same bits" : "against the oracle, for the order of blocks may show",
        options.turns && can_schedule()   ? " Of the cases but the notes' every second; make stage=S test takes all."
        : !options.full && can_schedule() ? " The notes' shapes have one head, and full=1 takes them whole."
                                          : "");
  }

 private:
  void print_case(const CaseResult& r) override {
    const Comparison& c = r.compared;
    if (r.test.group == Group::overlap) return print_row(r, "-", "-", r.note);
    print_row(r, c.compared ? format("%.6f", c.max_diff) : "-",
              c.compared ? format("%.0f%%", 100 * c.worst_ratio) : "-",
              format("%zu gradients, %d launches", c.compared, r.launches) +
                  (r.test.scale ? format("; scale %g", *r.test.scale) : "") +
                  (r.test.amplitude != 1 ? format("; amplitude %g", r.test.amplitude) : "") +
                  magnified(r.test.magnitudes) + r.note);
  }

  static std::string magnified(const Magnitudes& by) {
    std::string text;
    for (const auto& [name, factor] : {std::pair{"q", by.q}, {"k", by.k}, {"v", by.v}, {"dO", by.dout}})
      if (factor != 1) text += format("%s%s * %g", text.empty() ? "; " : ", ", name, factor);
    return text + (by.first ? format(" from row %zu on", by.first) : "");
  }

  void after_groups() override {
    if (can_schedule()) {  // a GPU has computed them all
      const std::string why = refusal(MANY_HEADS);
      std::printf("\nMore heads than a grid is high\n%s: %s\n", text(MANY_HEADS).c_str(),
                  why.empty() ? "launched" : why.c_str());
      ++(why.empty() ? passed_ : failed_);
    }
    std::printf("\nThe order of blocks\n");
    ++(holds_its_claim(4) ? passed_ : failed_);
  }

  std::string summary() const override {
    std::size_t cases = 0;
    for (const std::size_t seen : seen_) cases += seen;
    return format("%s %s: dQ, dK and dV of %zu cases", backward_stage().name, backend_name(), cases);
  }
};

int run_backward_acceptance(const AcceptanceOptions& options, std::vector<Case> cases, double seconds = 1e9) {
  const bool same_bits = claims_same_bits();
  if (options.quick) std::ranges::stable_sort(cases, {}, cost);
  BackwardReport report(options, cases.size(), same_bits);
  const MakeOverlapping make = [&](const Shape& shape, std::uint64_t seed) {
    return std::make_unique<OverlappingGradients>(shape, seed, same_bits);
  };
  const auto run = [&](const Case& test, std::size_t number) {
    return test.group == Group::overlap ? run_overlap_case(test, make) : CaseRun(test, options, same_bits).run(number);
  };
  return run_acceptance({options, std::move(cases), run, cost, report, seconds});
}

}  // namespace

int backward_test_command(std::span<char*> args) {
  const AcceptanceOptions options = acceptance_options(args);
  std::vector<Case> cases = backward_cases(options.seed, options.full || !can_schedule());
  std::ranges::copy(overlap_cases(options.seed, true), std::back_inserter(cases));
  if (options.turns && can_schedule()) {
    std::size_t number = 0;
    std::erase_if(cases, [&](const Case& c) { return c.group != Group::notes && number++ % 2 != 0; });
  }
  if (options.cheapest) cases = cheapest_cases(std::move(cases), options.cheapest);
  return run_backward_acceptance(options, std::move(cases));
}

// lab fuzz [seconds=N] [cases=N] [seed=K]
int backward_fuzz_command(std::span<char*> args) {
  constexpr std::string_view keys[] = {"seconds", "cases", "seed"};
  const KeyValues values(args, keys);
  AcceptanceOptions options;
  options.quick = true;
  options.seed = values.whole("seed", ~0ull, 0, 1);
  const double seconds = double(values.whole("seconds", 1'000'000, 1, 60));
  const std::size_t cases = values.whole("cases", 1'000'000, 1, 1000);
  return run_backward_acceptance(options, random_backward_cases(options.seed, cases), seconds);
}

}  // namespace lab
