// The bound that the acceptance and the fuzzer hold kernels to, where q and k are large.
#include "checks/acceptance/problem.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "checks/acceptance/cases.hpp"

using namespace lab;

namespace {
std::vector<Case> large_cases() {
  std::vector<Case> cases = forward_cases(1);
  std::erase_if(cases, [](const Case& c) { return c.group != Group::amplitudes; });
  return cases;
}

Expected expected_of(const Case& c, bool half_p) {
  return expected(c.shape, scale_of(c), make_inputs(c.family, c.shape, c.seed, {}, c.amplitude), {}, half_p);
}

// One query, two keys, all columns `large`, except that key 1 has `first` and `second` in the first two; v is 1 and -1.
Inputs two_keys(float large, float first, float second) {
  Inputs in;
  for (std::vector<fp16>* tensor : {&in.q, &in.k, &in.v}) tensor->assign(2 * 64, to_fp16(large));
  in.k[64] = to_fp16(first), in.k[65] = to_fp16(second);
  for (int c = 0; c < 64; ++c) in.v[c] = to_fp16(1), in.v[64 + c] = to_fp16(-1);
  return in;
}
constexpr Shape TWO_KEYS{1, 1, 2, 64, false};
}  // namespace

TEST_CASE("expected: the acceptance's large inputs have no loose bound") {
  for (const Case& c : large_cases()) {
    const std::string family = name(c.family);
    CAPTURE(family);
    CAPTURE(c.amplitude);
    CAPTURE(c.shape.S);
    CAPTURE(c.shape.D);
    const Expected right = expected_of(c, true);
    CHECK(std::ranges::max(right.allowed) < 0.02);
    // Zeros are not within it.
    std::size_t red = 0;
    for (std::size_t i = 0; i < right.value.size(); ++i) red += std::abs(right.value[i]) > right.allowed[i];
    CHECK(red > right.value.size() * 9 / 10);
  }
}

TEST_CASE("expected: two keys that rounding may tell apart either way have a bound that admits both") {
  const auto allowed = [](const Inputs& in, double scale) {
    return expected(TWO_KEYS, scale, in, {}, false).allowed[0];
  };
  // 12000 + 8 and 12000 - 8: the same score exactly, the mean of both is 0, and fp32 may have either.
  CHECK(allowed(two_keys(12000, 12008, 11992), 0.125) >= 1);
  // Lower by 12000, where the errors are 9000 in all: clear.
  CHECK(allowed(two_keys(12000, 11992, 12000), 0.125) < 1e-3);
  // Lower by 1, where the errors are 0.76: the bound admits 1, and no more.
  const Expected near = expected(TWO_KEYS, 1 / 96000.0, two_keys(12000, 11992, 12000), {}, false);
  CHECK(near.value[0] == doctest::Approx(std::tanh(0.5)));
  CHECK(near.allowed[0] > near.value[0] - std::tanh(0.5 * (1 - 0.75)));
  CHECK(near.allowed[0] < 0.55);
  // Equal rows of K have equal scores.
  CHECK(allowed(two_keys(12000, 12000, 12000), 0.125) < 1e-6);
}

TEST_CASE("expected: whatever rounding does, the output is a mean of V's rows") {
  const Inputs in = make_inputs(Family::unit, {1, 1, 300, 64, false}, 3, {}, 65504);
  double largest_v = 0;
  for (const fp16 v : in.v) largest_v = std::max(largest_v, std::abs(double(to_float(v))));
  // A scale at which the largest error of a score passes what exp has a number for.
  const Expected right = expected({1, 1, 300, 64, false}, 1e6, in, {}, true);
  for (std::size_t i = 0; i < right.value.size(); ++i) {
    CHECK(right.allowed[i] <= largest_v + std::abs(right.value[i]) + 0.02);
    CHECK(std::isfinite(right.allowed[i]));
  }
}
