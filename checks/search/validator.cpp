#include "checks/search/validator.hpp"

#include <algorithm>

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

std::vector<fp16> fetched(const half* from, std::size_t size) {
  std::vector<fp16> host(size);
  check_cuda(cudaMemcpy(host.data(), from, size * sizeof(half), cudaMemcpyDeviceToHost), "cudaMemcpy to host");
  return host;
}

// Tensors of several calls in one piece of memory, with canaries wherever no tensor is.
class Arena {
 public:
  Arena(int calls, std::size_t elements, int rounds)
      : calls_(calls),
        elements_(elements),
        memory_(STEP * std::size_t(rounds + 1) + GUARD + std::size_t(calls) * 4 * (elements + GUARD)) {}

  // Its tensors lie elsewhere than in another round; canaries everywhere: NaN, so that a read of them shows in the output.
  void begin(int round) {
    shift_ = STEP * std::size_t(round);
    check_cuda(cudaMemset(memory_.data(), CANARY_BYTE, memory_.bytes()), "cudaMemset");
    check_cuda(cudaDeviceSynchronize(), "cudaMemset");  // the candidate's stream waits for no other
  }
  // 0: q, 1: k, 2: v, 3: out.
  half* tensor(int call, int which) const {
    return memory_.data() + shift_ + GUARD + (std::size_t(call) * 4 + std::size_t(which)) * (elements_ + GUARD);
  }
  void poison() const {
    for (int call = 0; call < calls_; ++call)
      check_cuda(cudaMemset(tensor(call, 3), 0xFF, elements_ * sizeof(half)), "cudaMemset");
    check_cuda(cudaDeviceSynchronize(), "cudaMemset");
  }
  // Where a canary is gone; "" if none is.
  std::string damage() const {
    for (int i = 0; i <= 4 * calls_; ++i) {
      const std::vector<fp16> host =
          fetched(i == 0 ? tensor(0, 0) - GUARD : tensor((i - 1) / 4, (i - 1) % 4) + elements_, GUARD);
      for (std::size_t e = 0; e < GUARD; ++e)
        if (host[e].bits != CANARY_BYTE * 0x101)
          return i == 0 ? format("%zu elements before the first tensor", GUARD - e)
                        : format("%zu elements past tensor %c of call %d", e, "qkvo"[(i - 1) % 4], (i - 1) / 4);
    }
    return "";
  }
  std::vector<std::uint64_t> digests(Device& device, int from, int to) const {
    std::vector<std::uint64_t> all;
    for (int call = 0; call < calls_; ++call)
      for (int which = from; which < to; ++which) all.push_back(device.digest(tensor(call, which), elements_));
    return all;
  }

 private:
  static constexpr int CANARY_BYTE = 0x7D;
  int calls_;
  std::size_t elements_, shift_ = 0;
  Buffer<half> memory_;
};

class Validator {
 public:
  Validator(Device& device, const Subject& candidate, const Shape& shape, const Plan& plan)
      : device_(device),
        candidate_(candidate),
        shape_(shape),
        plan_(plan),
        seed_(plan.seed * 1000003),
        timed_(plan.calls, shape.elements(), plan.rounds),
        again_(plan.calls, shape.elements(), plan.rounds) {}

  Passed validate() {
    single_calls("before it is timed");
    for (int i = 0; i < plan_.rounds; ++i) round(i);
    single_calls("after it was timed");
    if (const std::string what = device_.settings_changed(); !what.empty()) throw Refused("settings", what);
    if (passed_.rows_checked == 0) throw Refused("oracle", "no row of any call was checked");
    return passed_;
  }

 private:
  void launch(const Arena& arena, int call, const Shape& shape) {
    const Call made{.in = {arena.tensor(call, 0), arena.tensor(call, 1), arena.tensor(call, 2)},
                    .out = {arena.tensor(call, 3)},
                    .shape = shape,
                    .scale = float(default_scale(shape.D)),
                    .stream = device_.stream()};
    const cudaError_t error = candidate_.launch(made), last = cudaGetLastError();
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

  // The guard of memory, where `inputs` are the digests from before the calls.
  void untouched(const Arena& arena, const std::vector<std::uint64_t>& inputs, const std::string& when) {
    if (const std::string where = arena.damage(); !where.empty())
      throw Refused("memory", "written " + where + ", " + when);
    if (inputs != arena.digests(device_, 0, 3)) throw Refused("memory", "an input is another after the call, " + when);
  }

  // Holds a call's output against the oracle.
  void compare(const Arena& arena, int call, const Shape& shape, int count, const std::string& when) {
    const std::vector<fp16> out = fetched(arena.tensor(call, 3), shape_.elements());
    for (std::size_t i = 0; i < out.size(); ++i)
      if (i < shape.elements() ? (out[i].bits & 0x7FFF) > 0x7C00 : out[i] != FP16_NAN)
        throw Refused("memory",
                      format("element %zu of %s %s, %s", i, text_of(shape).c_str(),
                             i < shape.elements() ? "is NaN, or was not written" : "is past the end, and was written",
                             when.c_str()));
    const auto input = [&](int which) { return fetched(arena.tensor(call, which), shape.elements()); };
    const std::vector<RowBlock> rows = sample(shape, std::size_t(count));
    const Expected right =
        expected(shape, default_scale(shape.D), {input(0), input(1), input(2), {}}, rows, candidate_.half_p);
    Comparison compared;
    lab::compare(shape, rows, out, right, compared);
    if (!compared.good()) {
      const SeenElement& first = *compared.first;
      throw Refused("oracle", format("head %d row %d column %d of %s is %.6g, the oracle says %.6g, %s",
                                     first.b * shape.H + first.h, first.row, first.col, text_of(shape).c_str(),
                                     double(first.got), first.expected, when.c_str()));
    }
    passed_.rows_checked += rows.size();
  }

  // Checked one by one: the timed shape in three families, and others that share its tile.
  void single_calls(const std::string& when) {
    struct Case {
      Shape shape;
      float factor, offset;
    };
    Shape ragged = shape_, other = shape_;
    ragged.B = 1, ragged.H = std::min(2, shape_.B * shape_.H), ragged.S = std::max(1, std::min(shape_.S, 300) - 27);
    other.B = 1, other.H = 1, other.S = std::min(shape_.S, 200), other.causal = !shape_.causal;
    std::vector<Case> cases = {{shape_, 1, 0}, {shape_, 3, 0}, {shape_, 1, 4}, {ragged, 2, 0}, {other, 2, 0}};
    if (!device_.has_clock()) cases.erase(cases.begin() + 1, cases.begin() + 3);  // a launch takes seconds there
    Arena arena(1, shape_.elements(), int(cases.size()));
    for (std::size_t i = 0; i < cases.size(); ++i) {
      const Case& c = cases[i];
      arena.begin(int(i));
      fill(arena, 0, c.shape.elements(), c.factor, c.offset);
      arena.poison();
      poison_shared_memory();
      const auto inputs = arena.digests(device_, 0, 3);
      launch(arena, 0, c.shape);
      finish(when);
      untouched(arena, inputs, when);
      compare(arena, 0, c.shape, plan_.of_single, when);
    }
  }

  void round(int number) {
    timed_.begin(number);
    for (int call = 0; call < plan_.calls; ++call) fill(timed_, call, shape_.elements());
    const Batch batch = device_.gather(plan_.calls, [&](int i) { launch(timed_, i, shape_); });
    timed_.poison();
    if (last_) (void)last_(), (void)last_();
    const auto inputs = timed_.digests(device_, 0, 3);
    const std::optional<double> us = batch();
    finish("while it was timed");
    const auto outputs = timed_.digests(device_, 3, 4);
    untouched(timed_, inputs, "while it was timed");
    for (int i = 0; i < plan_.calls; ++i)
      compare(timed_, i, shape_, plan_.sampled, format("in timed call %d of round %d", i, number));

    // The same inputs elsewhere, the calls the other way round, untimed: the same bits.
    last_ = nullptr;
    again_.begin(plan_.rounds - number);
    for (int i = 0; i < plan_.calls; ++i)
      for (int which = 0; which < 3; ++which)
        check_cuda(cudaMemcpy(again_.tensor(i, which), timed_.tensor(i, which), shape_.elements() * sizeof(half),
                              cudaMemcpyDeviceToDevice),
                   "cudaMemcpy");
    check_cuda(cudaDeviceSynchronize(), "cudaMemcpy");
    last_ = device_.gather(plan_.calls, [this](int i) { launch(again_, plan_.calls - 1 - i, shape_); });
    again_.poison();
    (void)last_();
    finish("while it was repeated");
    if (outputs != again_.digests(device_, 3, 4))
      throw Refused("determinism", "the same inputs at other addresses, in another order, gave other bits");
    passed_.calls_checked += std::size_t(plan_.calls);
    if (!us) return;
    passed_.us.push_back(*us);
    if (*us < floor_us(shape_))
      throw Refused("roofline",
                    format("%.3f us a call, and no GPU of the lab can do it below %.3f", *us, floor_us(shape_)));
  }

  Device& device_;
  const Subject& candidate_;
  Shape shape_;
  Plan plan_;
  std::uint64_t seed_;
  Arena timed_, again_;  // there from the beginning: nothing else has ever lain at their addresses
  Batch last_;           // runs untimed before each round, so that the clock is up
  Passed passed_;
};

}  // namespace

double floor_us(const Shape& s) {
  const double keys = s.causal ? (double(s.S) + 1) / 2 : s.S;  // that a row sees, on average
  return std::max(LEAST_LAUNCH_US, 4.0 * double(s.rows()) * keys * s.D / MOST_FLOP_PER_US);
}

Plan plan_for(const Shape& shape, const Device& device) {
  if (!device.has_clock()) return {.calls = 2, .rounds = 2, .sampled = 64, .of_single = 2048};
  const double guess = 2 * floor_us(shape);
  return {.calls = std::clamp(int(LONGEST_TIMED_US / guess), 2, 16), .rounds = guess > LONGEST_TIMED_US / 4 ? 5 : 9};
}

Passed validate(Device& device, const Subject& candidate, const Shape& shape, const Plan& plan) {
  return Validator(device, candidate, shape, plan).validate();
}

}  // namespace lab::search
