// The search's validator, with stages and clocks made up; checks/search/adversarial.cu has real kernels.
#include <doctest/doctest.h>

#include "checks/search/validator.hpp"
#include "common/backend.hpp"
#include "common/fp16.hpp"
#include "reference/attention.hpp"

namespace {
using namespace lab;
using namespace lab::search;

const Shape SHORT{1, 2, 24, 64, false};

cudaError_t by_the_oracle(const Call& a) {
  to_be_made({nullptr, 0, a.stream, {}, {}, {}});
  const auto tensor = [&](const half* x) { return Tensor(reinterpret_cast<const fp16*>(x), a.shape.elements()); };
  const auto out = attention({a.shape, a.scale, tensor(a.in[0]), tensor(a.in[1]), tensor(a.in[2])});
  for (std::size_t i = 0; i < out.size(); ++i) reinterpret_cast<fp16*>(a.out[0])[i] = to_fp16(float(out[i]));
  return cudaSuccess;
}

Subject stage_of(cudaError_t (*launch)(const Call&)) {
  return {false, {"q", "k", "v"}, {"out"}, launch, [](const Shape&) { return std::size_t(0); }, false};
}
std::string refusal(double us, cudaError_t (*stage)(const Call&)) {
  try {
    validate(stage_of(stage), SHORT, {.calls = 2, .rounds = 2, .us = us});
  } catch (const Refused& e) {
    return e.what();
  }
  return "";
}

TEST_CASE("validator: no time below the roofline is believed") {
  CHECK(refusal(0.4, by_the_oracle).starts_with("roofline: "));
  CHECK(refusal(0.6, by_the_oracle) == "");
  // 17.2 GFLOP at 1,070 TFLOP/s; under a mask half of it and the diagonal.
  CHECK(floor_us({2, 8, 2048, 64, false}) == doctest::Approx(16.05).epsilon(0.01));
  CHECK(floor_us({2, 8, 2048, 64, true}) == doctest::Approx(8.03).epsilon(0.01));
  CHECK(floor_us({1, 1, 1, 64, false}) == 0.5);
}

TEST_CASE("validator: a launch that fails, or a wrong answer in any call, is none") {
  CHECK(refusal(5, [](const Call&) { return cudaErrorInvalidValue; }).starts_with("launch: "));
  static int calls;
  calls = 0;
  // Wrong in the second timed call only: five cases come before.
  const std::string once = refusal(5, [](const Call& a) {
    Call now = a;
    if (++calls == 7) now.scale = 0;
    return by_the_oracle(now);
  });
  CHECK(once.starts_with("oracle: "));
  CHECK(once.ends_with("in timed call 1 of round 0"));
}

}  // namespace
