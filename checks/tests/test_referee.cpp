// The elite loop's referee, with stages and clocks made up; checks/evolve/cheaters has real kernels.
#include <doctest/doctest.h>

#include <cmath>
#include <functional>

#include "checks/evolve/referee.hpp"
#include "common/backend.hpp"
#include "common/emulator/launch.hpp"
#include "common/fp16.hpp"

namespace {
using namespace lab;
using namespace lab::evolve;

const Shape SHAPE{1, 2, 24, 64, false};

cudaError_t by_the_oracle(const AttentionArgs& a) {
  cpu::count_launch(a.stream);
  const auto tensor = [&](const half* x) { return Tensor(reinterpret_cast<const fp16*>(x), a.shape.elements()); };
  const auto out = attention(a.shape, a.scale, tensor(a.q), tensor(a.k), tensor(a.v));
  for (std::size_t i = 0; i < out.size(); ++i) reinterpret_cast<fp16*>(a.out)[i] = to_fp16(float(out[i]));
  return cudaSuccess;
}
const StageInfo RIGHT{"right", by_the_oracle, [](const Shape&) { return LaunchPlan{}; }};

// The CPU with a clock that returns given times.
class Clocked final : public Device {
 public:
  explicit Clocked(double us) : us_(us) {}
  ~Clocked() override { set_exec_options({}); }
  cudaStream_t stream() override { return cpu_->stream(); }
  std::size_t l2_bytes() override { return 0; }
  std::size_t free_bytes() override { return cpu_->free_bytes(); }
  bool has_clock() override { return true; }
  void fill(half* to, std::size_t size, std::uint64_t seed, float factor, float offset) override {
    cpu_->fill(to, size, seed, factor, offset);
  }
  std::vector<std::uint64_t> digests(const std::vector<const half*>& tensors, std::size_t size) override {
    return cpu_->digests(tensors, size);
  }
  Expected oracle(const Shape& shape, double scale, const half* q, const half* k, const half* v,
                  const std::vector<RowBlock>& rows, bool half_p) override {
    return cpu_->oracle(shape, scale, q, k, v, rows, half_p);
  }
  std::unique_ptr<Batch> gather(int calls, const std::function<void(int)>& call) override {
    struct Told final : Batch {
      std::unique_ptr<Batch> batch;
      double us = 0;
      std::optional<double> run() override { return (void)batch->run(), us; }
    };
    auto told = std::make_unique<Told>();
    told->batch = cpu_->gather(calls, call), told->us = us_;
    return told;
  }
  std::string settings_changed() override { return cpu_->settings_changed(); }

 private:
  std::unique_ptr<Device> cpu_ = make_device();
  double us_;
};

std::string refusal(double us, const StageInfo& stage) {
  Clocked device(us);
  try {
    Plan plan;
    plan.calls = 2, plan.rounds = 2;
    judge(device, stage, SHAPE, plan);
  } catch (const Refused& e) {
    return e.safeguard;
  }
  return "";
}

TEST_CASE("referee: who is right and keeps the rules passes, and every timed call was looked at") {
  Clocked device(5);
  Plan plan;
  plan.calls = 3, plan.rounds = 2;
  const Judged judged = judge(device, RIGHT, SHAPE, plan);
  CHECK(judged.us == std::vector<double>{5, 5});
  CHECK(judged.calls_checked == 6);
  CHECK(judged.rows_checked > 6 * 40);
  CHECK(judged.largest_part < 1);
}

TEST_CASE("referee: no time below the roofline is believed") {
  CHECK(refusal(0.4, RIGHT) == "roofline");
  CHECK(refusal(0.6, RIGHT) == "");
  // 17.2 GFLOP at 1,070 TFLOP/s; under a mask half of it and the diagonal.
  CHECK(floor_us({2, 8, 2048, 64, false}) == doctest::Approx(16.05).epsilon(0.01));
  CHECK(floor_us({2, 8, 2048, 64, true}) == doctest::Approx(8.03).epsilon(0.01));
  CHECK(floor_us({1, 1, 1, 64, false}) == 0.5);
}

TEST_CASE("referee: a launch that fails, or a wrong answer in any call, is none") {
  CHECK(refusal(5, {"refuses", [](const AttentionArgs&) { return cudaErrorInvalidValue; }, RIGHT.plan}) == "launch");
  static int calls;
  calls = 0;
  // Wrong in the second timed call only: five cases come before.
  CHECK(refusal(5, {"once",
                    [](const AttentionArgs& a) {
                      AttentionArgs now = a;
                      if (++calls == 7) now.scale = 0;
                      return by_the_oracle(now);
                    },
                    RIGHT.plan}) == "every timed call is checked");
}

TEST_CASE("referee: each call finds other addresses and other numbers") {
  static std::vector<std::pair<const half*, std::uint16_t>> seen;
  seen.clear();
  CHECK(refusal(5, {"looks",
                    [](const AttentionArgs& a) {
                      if (a.shape == SHAPE) seen.emplace_back(a.q, reinterpret_cast<const fp16*>(a.q)[5].bits);
                      return by_the_oracle(a);
                    },
                    RIGHT.plan}) == "");
  REQUIRE(seen.size() > 14);
  // From the first timed call on (three families came before): 2 timed, 2 again, then 4 to warm up.
  for (const std::size_t timed : {3, 4, 11, 12})
    for (std::size_t i = 0; i < timed; ++i) {
      CHECK(seen[i].first != seen[timed].first);
      CHECK(seen[i].second != seen[timed].second);
    }
}

}  // namespace
