#include "checks/search/validator.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "checks/acceptance/comparison.hpp"
#include "checks/acceptance/device_tensors.hpp"
#include "checks/acceptance/format.hpp"
#include "common/backend.hpp"

namespace lab::search {
namespace {

// Dense fp16 products of the fastest GPU that the lab was measured on (H200: 989 TFLOP/s by its data sheet at 1830 MHz,
// and its clock goes to 1980), and less than any launch takes.
constexpr double MOST_FLOP_PER_US = 989e6 * 1980 / 1830, LEAST_LAUNCH_US = 0.5;

constexpr std::size_t GUARD = 512;         // canaries before, between and behind tensors, in elements
constexpr std::size_t STEP = 128;          // elements by which addresses move from round to round: 256 bytes
constexpr double LONGEST_TIMED_US = 4000;  // of a round's calls together
constexpr double LONGEST_WAIT_SECONDS = 20;

std::string text_of(const Shape& s) { return format("(%d,%d,%d,%d)%s", s.B, s.H, s.S, s.D, s.causal ? " causal" : ""); }

// Tensors of several calls in one piece of memory, with canaries wherever no tensor is.
class Arena {
 public:
  Arena(int calls, std::size_t elements, int rounds)
      : calls_(calls), elements_(elements), slack_(STEP * std::size_t(rounds + 1)) {
    check_cuda(cudaMalloc(&base_, size() * sizeof(half)), "cudaMalloc");
  }
  ~Arena() { cudaFree(base_); }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  void move_to(int round) { shift_ = STEP * std::size_t(round); }
  // 0: q, 1: k, 2: v, 3: out.
  half* tensor(int call, int which) const {
    return base_ + shift_ + GUARD + (std::size_t(call) * 4 + std::size_t(which)) * (elements_ + GUARD);
  }
  // Canaries everywhere: NaN, so that a read of them shows in the output.
  void guard() const {
    check_cuda(cudaMemset(base_, CANARY_BYTE, size() * sizeof(half)), "cudaMemset");
    check_cuda(cudaDeviceSynchronize(), "cudaMemset");  // the candidate's stream waits for no other
  }
  void poison(int call) const {
    check_cuda(cudaMemset(tensor(call, 3), 0xFF, elements_ * sizeof(half)), "cudaMemset");
    check_cuda(cudaDeviceSynchronize(), "cudaMemset");
  }
  // Where a canary is gone; "" if none is.
  std::string damage() const {
    std::vector<fp16> host(GUARD);
    for (int i = 0; i <= 4 * calls_; ++i) {
      const half* from = i == 0 ? tensor(0, 0) - GUARD : tensor((i - 1) / 4, (i - 1) % 4) + elements_;
      check_cuda(cudaMemcpy(host.data(), from, GUARD * sizeof(half), cudaMemcpyDeviceToHost), "cudaMemcpy to host");
      for (std::size_t e = 0; e < GUARD; ++e)
        if (host[e].bits != CANARY_BYTE * 0x101)
          return i == 0 ? format("%zu elements before the first tensor", GUARD - e)
                        : format("%zu elements past tensor %c of call %d", e, "qkvo"[(i - 1) % 4], (i - 1) / 4);
    }
    return "";
  }
  std::vector<const half*> tensors(int from, int to) const {
    std::vector<const half*> all;
    for (int call = 0; call < calls_; ++call)
      for (int which = from; which < to; ++which) all.push_back(tensor(call, which));
    return all;
  }

 private:
  static constexpr int CANARY_BYTE = 0x7D;
  std::size_t size() const { return slack_ + GUARD + std::size_t(calls_) * 4 * (elements_ + GUARD); }

  half* base_ = nullptr;
  int calls_;
  std::size_t elements_, slack_, shift_ = 0;
};

class Validator {
 public:
  Validator(Device& device, const StageInfo& candidate, const Shape& shape, const Plan& plan)
      : device_(device),
        candidate_(candidate),
        shape_(shape),
        plan_(plan),
        seed_(plan.seed * 1000003),
        timed_(plan.calls, shape.elements(), plan.rounds),
        again_(plan.calls, shape.elements(), plan.rounds) {}

  Passed validate() {
    correctness("before it is timed");
    if (plan_.rounds > 0) rounds();
    correctness("after it was timed");
    if (const std::string what = device_.settings_changed(); !what.empty()) throw Refused("settings", what);
    if (passed_.rows_checked == 0) throw Refused("oracle", "no row of any call was checked");
    return passed_;
  }

 private:
  void launch(const Arena& arena, int call, const Shape& shape) {
    const AttentionArgs args{
        arena.tensor(call, 0),         arena.tensor(call, 1), arena.tensor(call, 2), arena.tensor(call, 3), shape,
        float(default_scale(shape.D)), device_.stream()};
    const cudaError_t error = candidate_.launch(args), last = cudaGetLastError();
    if (error == cudaSuccess && last == cudaSuccess) return;
    const std::string message = take_exec_report().message;
    throw Refused("launch", std::string(cudaGetErrorName(error != cudaSuccess ? error : last)) +
                                (message.empty() ? "" : ": " + message));
  }
  void finish(const char* when) {
    const cudaError_t ran = synchronize_within(LONGEST_WAIT_SECONDS);
    const ExecReport report = take_exec_report();
    if (ran != cudaSuccess)
      throw Refused("launch", std::string(cudaGetErrorName(ran)) + " " + when +
                                  (report.message.empty() ? "" : ": " + report.message));
    if (!report.findings.empty()) throw Refused("memory", report.findings[0].text);
  }

  void fill(const Arena& arena, int call, std::size_t elements, float factor = 1, float offset = 0) {
    for (int which = 0; which < 3; ++which)
      device_.fill(arena.tensor(call, which), elements, ++seed_, which == 2 ? 1 : factor, which == 1 ? offset : 0);
  }

  // Rows spread over all heads, others each time; the last row of all is always one.
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

  bool half_p(const Shape& shape) {
    try {
      return candidate_.plan(shape).half_p;
    } catch (const std::invalid_argument& e) {  // a stage in plain CUDA that launches no kernel has no plan
      throw Refused("launch", e.what());
    }
  }

  // Holds a call's output against the oracle.
  void compare(const Arena& arena, int call, const Shape& shape, std::size_t count, const std::string& when) {
    const std::vector<RowBlock> rows = sample(shape, count);
    std::vector<fp16> out(shape_.elements());
    check_cuda(cudaMemcpy(out.data(), arena.tensor(call, 3), out.size() * sizeof(half), cudaMemcpyDeviceToHost),
               "cudaMemcpy to host");
    for (std::size_t i = 0; i < out.size(); ++i)
      if (i < shape.elements() ? (out[i].bits & 0x7FFF) > 0x7C00 : out[i] != FP16_NAN)
        throw Refused("memory",
                      format("element %zu of %s %s, %s", i, text_of(shape).c_str(),
                             i < shape.elements() ? "is NaN, or was not written" : "is past the end, and was written",
                             when.c_str()));
    const Expected right = device_.oracle(shape, default_scale(shape.D), arena.tensor(call, 0), arena.tensor(call, 1),
                                          arena.tensor(call, 2), rows, half_p(shape));
    Comparison compared;
    lab::compare(shape, rows, out, right, compared);
    if (!compared.good()) {
      const SeenElement& first = *compared.first;
      throw Refused("oracle", format("head %d row %d column %d of %s is %.6g, the oracle says %.6g, %s",
                                     first.b * shape.H + first.h, first.row, first.col, text_of(shape).c_str(),
                                     double(first.got), first.expected, when.c_str()));
    }
    passed_.largest_part = std::max(passed_.largest_part, compared.worst_ratio);
    passed_.rows_checked += rows.size();
  }

  // Single calls, checked one by one: the timed shape in three families, and others that share its tile.
  void correctness(const std::string& when) {
    struct Case {
      Shape shape;
      float factor, offset;
    };
    Shape ragged = shape_, other = shape_;
    ragged.B = 1, ragged.H = std::min(2, shape_.B * shape_.H), ragged.S = std::min(shape_.S, 300) - 27;
    other.B = 1, other.H = 1, other.S = std::min(shape_.S, 200), other.causal = !shape_.causal;
    std::vector<Case> cases = {{shape_, 1, 0}, {shape_, 3, 0}, {shape_, 1, 4}, {ragged, 2, 0}, {other, 2, 0}};
    for (Case& c : cases) c.shape.S = std::max(c.shape.S, 1);
    if (!device_.has_clock()) cases.erase(cases.begin() + 1, cases.begin() + 3);  // a launch takes seconds there
    Arena arena(1, shape_.elements(), int(cases.size()) + 1);
    for (std::size_t i = 0; i < cases.size(); ++i) {
      const Case& c = cases[i];
      arena.guard(), arena.move_to(int(i));
      fill(arena, 0, c.shape.elements(), c.factor, c.offset);
      arena.poison(0);
      poison_shared_memory();
      const auto before = device_.digests(arena.tensors(0, 3), shape_.elements());
      launch(arena, 0, c.shape);
      finish(when.c_str());
      if (const std::string where = arena.damage(); !where.empty())
        throw Refused("memory", "written " + where + ", " + when);
      if (before != device_.digests(arena.tensors(0, 3), shape_.elements()))
        throw Refused("memory", "an input is another after the call, " + when);
      compare(arena, 0, c.shape, 2048, when);
    }
  }

  void rounds() {
    const std::size_t elements = shape_.elements();
    Arena &timed = timed_, &again = again_;
    std::unique_ptr<Batch> last;  // runs untimed before each round, so that the clock is up
    for (int round = 0; round < plan_.rounds; ++round) {
      timed.guard(), timed.move_to(round);
      for (int call = 0; call < plan_.calls; ++call) fill(timed, call, elements);
      const auto call = [&](const Arena& arena) { return [&](int i) { launch(arena, i, shape_); }; };
      const auto batch = device_.gather(plan_.calls, call(timed));
      for (int i = 0; i < plan_.calls; ++i) timed.poison(i);
      if (last) (void)last->run(), (void)last->run();
      const auto inputs = device_.digests(timed.tensors(0, 3), elements);
      const std::optional<double> us = batch->run();
      finish("while it was timed");
      const auto outputs = device_.digests(timed.tensors(3, 4), elements);
      if (const std::string where = timed.damage(); !where.empty())
        throw Refused("memory", "written " + where + ", while it was timed");
      if (inputs != device_.digests(timed.tensors(0, 3), elements))
        throw Refused("memory", "an input is another after the timed calls");
      for (int i = 0; i < plan_.calls; ++i)
        compare(timed, i, shape_, std::size_t(plan_.sampled), format("in timed call %d of round %d", i, round));

      // The same inputs elsewhere, the calls the other way round, untimed: the same bits.
      last.reset();
      again.guard(), again.move_to(plan_.rounds - round);
      for (int i = 0; i < plan_.calls; ++i)
        for (int which = 0; which < 3; ++which)
          check_cuda(cudaMemcpy(again.tensor(i, which), timed.tensor(i, which), elements * sizeof(half),
                                cudaMemcpyDeviceToDevice),
                     "cudaMemcpy");
      check_cuda(cudaDeviceSynchronize(), "cudaMemcpy");
      last = device_.gather(plan_.calls, [&](int i) { launch(again, plan_.calls - 1 - i, shape_); });
      for (int i = 0; i < plan_.calls; ++i) again.poison(i);
      (void)last->run();
      finish("while it was repeated");
      if (outputs != device_.digests(again.tensors(3, 4), elements))
        throw Refused("determinism", "the same inputs at other addresses, in another order, gave other bits");
      passed_.calls_checked += std::size_t(plan_.calls);
      if (us) passed_.us.push_back(*us);
      if (us && *us < floor_us(shape_))
        throw Refused("roofline",
                      format("%.3f us a call, and no GPU of the lab can do it below %.3f", *us, floor_us(shape_)));
    }
  }

  Device& device_;
  const StageInfo& candidate_;
  Shape shape_;
  Plan plan_;
  std::uint64_t seed_;
  Arena timed_, again_;  // there from the beginning: nothing else has ever lain at their addresses
  Passed passed_;
};

}  // namespace

double floor_us(const Shape& s) {
  const double keys = s.causal ? (double(s.S) + 1) / 2 : s.S;  // that a row sees, on average
  return std::max(LEAST_LAUNCH_US, 4.0 * double(s.rows()) * keys * s.D / MOST_FLOP_PER_US);
}

Plan plan_for(const Shape& shape, const Device& device) {
  Plan plan;
  if (!device.has_clock()) {
    plan.calls = 2, plan.rounds = 2;
    return plan;
  }
  const double guess = 2 * floor_us(shape);
  plan.calls = std::clamp(int(LONGEST_TIMED_US / guess), 2, 16);
  if (guess > LONGEST_TIMED_US / 4) plan.rounds = 5;
  return plan;
}

Passed validate(Device& device, const StageInfo& candidate, const Shape& shape, const Plan& plan) {
  return Validator(device, candidate, shape, plan).validate();
}

}  // namespace lab::search
