#include "checks/search/validator.hpp"

#include <algorithm>
#include <cmath>
#include <deque>

#include "checks/acceptance/cases.hpp"
#include "checks/acceptance/comparison.hpp"
#include "checks/acceptance/format.hpp"
#include "checks/acceptance/launch.hpp"
#include "common/backend.hpp"

namespace lab::search {
namespace {

// Dense fp16 products of the fastest GPU that the lab was measured on (H200: 989 TFLOP/s by its data sheet at 1830 MHz,
// and its clock goes to 1980), and less than any launch takes.
constexpr double MOST_FLOP_PER_US = 989e6 * 1980 / 1830, LEAST_LAUNCH_US = 0.5;

constexpr double LONGEST_TIMED_US = 4000;  // of a round's calls together
constexpr double LONGEST_WAIT_SECONDS = 20;

class Validator {
 public:
  Validator(const Subject& candidate, const Shape& shape, const Plan& plan)
      : candidate_(candidate), shape_(shape), plan_(plan), seed_(plan.seed * 1000003) {}

  std::vector<double> validate() {
    single_calls("before it is timed");
    for (int i = 0; i < plan_.rounds; ++i) round(i);
    single_calls("after it was timed");
    if (const std::string what = device_.settings_changed(); !what.empty()) throw Refused("settings", what);
    return us_;
  }

 private:
  struct Posed {
    const Problem* problem;
    Tensors* tensors;
  };
  using Output = std::vector<fp16>;

  // With numbers of its own.
  Posed pose(const Shape& shape, Family family) {
    return placed(problems_.emplace_back(problem_of(candidate_, {Group::ragged, shape, family, ++seed_})));
  }
  // In memory of its own.
  Posed placed(const Problem& problem) {
    Tensors& tensors = memory_.emplace_back(candidate_, problem.in);
    tensors.call(problem.shape, problem.scale);  // makes the workspace: nothing is allocated while a graph is captured
    return {&problem, &tensors};
  }
  static void poison(const std::vector<Posed>& all) {
    for (const Posed& posed : all) posed.tensors->poison();
    check_cuda(cudaDeviceSynchronize(), "cudaMemset");  // the candidate's stream waits for no other
  }

  void launch(const Posed& posed) {
    Call call = posed.tensors->call(posed.problem->shape, posed.problem->scale);
    call.stream = device_.stream();
    const cudaError_t error = candidate_.launch(call), last = cudaGetLastError();
    if (error == cudaSuccess && last == cudaSuccess) return;
    const std::string message = take_exec_report().message;
    throw Refused("launch", std::string(cudaGetErrorName(error != cudaSuccess ? error : last)) +
                                (message.empty() ? "" : ": " + message));
  }
  void finish(const std::string& when) {
    const cudaError_t ran = synchronize_within(LONGEST_WAIT_SECONDS);
    const ExecReport report = take_exec_report();
    if (ran != cudaSuccess)
      throw Refused("launch", std::string(cudaGetErrorName(ran)) + " " + when +
                                  (report.message.empty() ? "" : ": " + report.message));
    if (!report.findings.empty()) throw Refused("memory", report.findings[0].text);
  }

  // Rows spread over all heads, others each time; the last row of all is always one. (The acceptance's sample always takes
  // the first, too: of its run no other row would ever be asked.)
  std::vector<RowBlock> sample(const Shape& shape, std::size_t count) {
    const std::size_t rows = shape.rows(), some = std::min(rows, count);
    std::vector<RowBlock> chosen;
    for (std::size_t i = 0; i < some; ++i) {
      const std::size_t first = rows * i / some, size = rows * (i + 1) / some - first;
      seed_ = seed_ * 6364136223846793005ull + 1442695040888963407ull;
      const std::size_t row = i + 1 == some ? rows - 1 : first + std::size_t(seed_ >> 33) % size;
      chosen.push_back({int(row / std::size_t(shape.S)), int(row % std::size_t(shape.S)), 1});
    }
    return chosen;
  }

  // The guard of memory.
  Output fetched(const Posed& posed, const std::string& when) {
    std::vector<Output> outputs;
    for (const Fault& stray : posed.tensors->fetch(outputs)) throw Refused("memory", stray.what + ", " + when);
    const auto lost = std::ranges::find_if(outputs[0], [](fp16 x) { return std::isnan(to_float(x)); });
    if (lost != outputs[0].end())
      throw Refused("memory", format("element %td of %s is NaN, or was not written, %s", lost - outputs[0].begin(),
                                     text(posed.problem->shape).c_str(), when.c_str()));
    return outputs[0];
  }

  // Holds a call's output against the oracle, and returns it.
  Output judged(const Posed& posed, int count, const std::string& when) {
    const Shape& shape = posed.problem->shape;
    const Output out = fetched(posed, when);
    const std::vector<RowBlock> rows = sample(shape, std::size_t(count));
    Comparison compared;
    compare(shape, rows, out, oracle(candidate_, *posed.problem, rows)[0], compared);
    if (!compared.good()) {
      const SeenElement& first = *compared.first;
      throw Refused("oracle", format("head %d row %d column %d of %s is %.6g, the oracle says %.6g, %s",
                                     first.b * shape.H + first.h, first.row, first.col, text(shape).c_str(),
                                     double(first.got), first.expected, when.c_str()));
    }
    return out;
  }

  // Checked one by one: the timed shape in three families, and others that share its tile.
  void single_calls(const std::string& when) {
    Shape ragged = shape_, other = shape_;
    ragged.B = 1, ragged.H = std::min(2, shape_.B * shape_.H), ragged.S = std::max(1, std::min(shape_.S, 300) - 27);
    other.B = 1, other.H = 1, other.S = std::min(shape_.S, 200), other.causal = !shape_.causal;
    std::vector<std::pair<Shape, Family>> cases = {{shape_, Family::unit},
                                                   {shape_, Family::peaked},
                                                   {shape_, Family::offset},
                                                   {ragged, Family::peaked},
                                                   {other, Family::peaked}};
    if (!Device::HAS_CLOCK && !plan_.us)
      cases.erase(cases.begin() + 1, cases.begin() + 3);  // a launch takes seconds there
    for (const auto& [shape, family] : cases) {
      const Posed posed = pose(shape, family);
      poison_shared_memory();
      poison({posed});  // waits for both
      launch(posed);
      finish(when);
      judged(posed, plan_.of_single, when);
    }
  }

  void round(int number) {
    std::vector<Posed> timed, again;
    for (int i = 0; i < plan_.calls; ++i) timed.push_back(pose(shape_, Family::unit));
    const Batch batch = device_.gather(plan_.calls, [=, this](int i) { launch(timed[std::size_t(i)]); });
    poison(timed);
    if (last_) (void)last_(), (void)last_();
    std::optional<double> us = batch();
    if (plan_.us) us = plan_.us;
    finish("while it was timed");
    std::vector<Output> outputs;
    for (const Posed& posed : timed)
      outputs.push_back(judged(posed, plan_.sampled, format("in timed call %zu of round %d", outputs.size(), number)));

    // The same inputs elsewhere, the calls the other way round, untimed: the same bits.
    for (const Posed& posed : timed) again.push_back(placed(*posed.problem));
    last_ = device_.gather(plan_.calls, [=, this](int i) { launch(again[std::size_t(plan_.calls - 1 - i)]); });
    poison(again);
    (void)last_();
    finish("while it was repeated");
    for (std::size_t i = 0; i < again.size(); ++i)
      if (fetched(again[i], "while it was repeated") != outputs[i])
        throw Refused("determinism", "the same inputs at other addresses, in another order, gave other bits");
    if (!us) return;
    us_.push_back(*us);
    if (*us < floor_us(shape_))
      throw Refused("roofline",
                    format("%.3f us a call, and no GPU of the lab can do it below %.3f", *us, floor_us(shape_)));
  }

  Device device_;
  const Subject& candidate_;
  Shape shape_;
  Plan plan_;
  std::uint64_t seed_;
  // Kept to the end: no call finds the numbers or the addresses of an earlier one.
  std::deque<Problem> problems_;
  std::deque<Tensors> memory_;
  Batch last_;  // runs untimed before each round, so that the clock is up
  std::vector<double> us_;
};

}  // namespace

double floor_us(const Shape& s) {
  const double keys = s.causal ? (double(s.S) + 1) / 2 : s.S;  // that a row sees, on average
  return std::max(LEAST_LAUNCH_US, 4.0 * double(s.rows()) * keys * s.D / MOST_FLOP_PER_US);
}

Plan plan_for(const Shape& shape) {
  if (!Device::HAS_CLOCK) return {.calls = 2, .rounds = 2, .sampled = 64, .of_single = 2048};
  const double guess = 2 * floor_us(shape);
  return {.calls = std::clamp(int(LONGEST_TIMED_US / guess), 2, 16), .rounds = guess > LONGEST_TIMED_US / 4 ? 5 : 9};
}

std::vector<double> validate(const Subject& candidate, const Shape& shape, const Plan& plan) {
  return Validator(candidate, shape, plan).validate();
}

}  // namespace lab::search
