// The predicted wrong answers. That each is what its bug computes, to the bound and on every element, its signature says
// (`make stage=S reproduce-bug`: equals_prediction). Here is what no bug shows.
#include "checks/tests/test_reference.hpp"

using namespace lab;
using namespace lab::judge;

namespace {

constexpr Shape NARROW{2, 1, 200, 64, true};

Operands operands(const Shape& s, const Inputs& in) { return {s, default_scale(s.D), in.q, in.k, in.v}; }

}  // namespace

// One bug has no stage of its own, and what the other divides by its signature's bound does not tell from 31.
TEST_CASE("wrong answers: scores_ignored, reduce_32x") {
  const Inputs in = make_inputs(Family::unit, NARROW, 5);
  const auto mean = naive(NARROW, in, [](int, int, int) { return 0.0; });
  CHECK(difference(wrong::scores_ignored(operands(NARROW, in)), mean) < CLOSE);
  std::vector<double> reduced = naive(NARROW, in);
  for (double& x : reduced) x *= 0.03125;
  CHECK(difference(wrong::reduce_32x(operands(NARROW, in)), reduced) < CLOSE);
}

TEST_CASE("wrong answers: what has no such answer is refused") {
  const Inputs narrow = make_inputs(Family::unit, NARROW, 1), in = make_inputs(Family::unit, RAGGED[0], 1);
  CHECK_THROWS_AS(wrong::qk_not_transposed(operands(NARROW, narrow), 32), BadInput);
  CHECK_THROWS_AS(wrong::strides_exchanged(operands(NARROW, narrow), 128), BadInput);
  CHECK_THROWS_AS(wrong::merge_without_max({RAGGED[0], 8, in.q, in.k, in.v}, 16), BadInput);  // weights past 2^11
}

TEST_CASE("wrong answers: guard_of_a_float") {
  // The scores are those of the first column: 0 and 0 in the first tile of two keys, then what is given.
  const Shape s{1, 1, 4, 64, false};
  const auto predicted = [&](double third, double fourth) {
    Inputs in = make_inputs(Family::unit, s, 1);
    for (std::size_t i = 0; i < in.q.size(); ++i) in.q[i] = to_fp16(i % 64 == 0), in.k[i] = fp16{0};
    in.k[2 * 64] = to_fp16(float(third)), in.k[3 * 64] = to_fp16(float(fourth));
    for (int c = 0; c < 64; ++c) in.v[2 * 64 + c] = to_fp16(c < 32 ? 1 : -1), in.v[3 * 64 + c] = to_fp16(1);
    const Operands given{s, 1, in.q, in.k, in.v};
    return std::pair(wrong::guard_of_a_float(given, 2), attention(given));
  };
  constexpr double INF = std::numeric_limits<double>::infinity();
  const auto [fits, right_fits] = predicted(11, 10);  // e^11 = 59874
  for (std::size_t i = 0; i < fits.size(); ++i) CHECK(fits[i] == doctest::Approx(right_fits[i]));
  const auto [one, right_one] = predicted(12, 11);  // e^12 = 162755
  const auto [both, right_both] = predicted(12, 12);
  for (int c = 0; c < 64; ++c) {
    CHECK(one[c] == (c < 32 ? INF : -INF));
    CHECK((c < 32 ? both[c] == INF : std::isnan(both[c])));
  }
  CHECK_THROWS_AS(predicted(100, 0), BadInput);  // e^100 > 2^120
}

TEST_CASE("wrong answers: the notes' inputs hide these bugs, unit variance does not") {
  for (const Family family : {Family::notes, Family::unit}) {
    CAPTURE(name(family));
    const Inputs in = make_inputs(family, MISSION, 1);
    const std::vector<double> correct = right(MISSION, in);
    for (const auto& bug : {wrong::scores_ignored, wrong::double_scale, wrong::ldm}) {
      const double error = difference(bug(operands(MISSION, in)), correct);
      CAPTURE(error);
      CHECK((family == Family::notes ? error < 1e-3 : error > FAR));
    }
  }
}
