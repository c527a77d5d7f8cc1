// The backward oracle against finite differences of the forward one, which knows none of its formulas.
#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "reference/backward.hpp"
#include "reference/bad_input.hpp"
#include "reference/inputs.hpp"

namespace lab {
namespace {

// Steps of the differences. Inputs are multiples of it and below 4, so x + 2 STEP and x - 2 STEP are halves.
constexpr double STEP = 0x1p-8;

std::vector<fp16> on_grid(std::vector<fp16> values) {
  for (fp16& x : values) {
    const double rounded = std::round(to_float(x) / STEP) * STEP;
    x = to_fp16(float(std::clamp(rounded, -3.5, 3.5)));
  }
  return values;
}

struct Problem {
  Shape shape;
  double scale;
  Inputs in;
  std::vector<fp16> dout;
};

Problem problem_of(const Shape& shape, double scale) {
  Inputs in = make_inputs(Family::unit, shape, 1);
  return {
      shape, scale, {on_grid(in.q), on_grid(in.k), on_grid(in.v), {}}, on_grid(make_inputs(Family::unit, shape, 2).v)};
}

double loss(const Problem& p) {
  const std::vector<double> out = attention({p.shape, p.scale, p.in.q, p.in.k, p.in.v});
  double sum = 0;
  for (std::size_t i = 0; i < out.size(); ++i) sum += out[i] * to_float(p.dout[i]);
  return sum;
}

// Of the loss by one element: central differences of two widths, whose errors of second order cancel.
double difference(Problem& p, fp16& element) {
  const fp16 old = element;
  const auto at = [&](double steps) {
    element = to_fp16(float(to_float(old) + steps * STEP));
    const double value = loss(p);
    element = old;
    return value;
  };
  const double narrow = (at(1) - at(-1)) / (2 * STEP), wide = (at(2) - at(-2)) / (4 * STEP);
  return (4 * narrow - wide) / 3;
}

double largest_gap(Problem& p) {
  const Gradients g = backward(p.shape, p.scale, p.in.q, p.in.k, p.in.v, p.dout);
  double largest = 0;
  for (const auto& [tensor, gradient] : {std::pair(&p.in.q, &g.dq), {&p.in.k, &g.dk}, {&p.in.v, &g.dv}})
    for (std::size_t i = 0; i < tensor->size(); i += 7)  // 7 divides neither D nor S: all rows and columns are met
      largest = std::max(largest, std::abs(difference(p, (*tensor)[i]) - (*gradient)[i]));
  return largest;
}

TEST_SUITE("backward reference") {
  TEST_CASE("dQ, dK and dV are the derivatives of the loss") {
    for (const bool causal : {false, true})
      for (const double scale : {0.35, -0.8, 0.0}) {
        Problem p = problem_of({2, 1, 9, 8, causal}, scale);
        CAPTURE(causal);
        CAPTURE(scale);
        CHECK(largest_gap(p) < 1e-6);
      }
    Problem one = problem_of({1, 2, 1, 8, true}, 0.35);  // one key: P = 1, and dQ = dK = 0
    CHECK(largest_gap(one) < 1e-9);
  }

  TEST_CASE("L makes the weights of a row add up to 1, and delta is dO·O") {
    const Problem p = problem_of({1, 2, 11, 8, true}, -0.6);
    const Gradients g = backward(p.shape, p.scale, p.in.q, p.in.k, p.in.v, p.dout);
    const std::vector<double> out = attention({p.shape, p.scale, p.in.q, p.in.k, p.in.v});
    for (int row = 0; row < int(p.shape.rows()); ++row) {
      const int i = row % p.shape.S, head = row / p.shape.S;
      double sum = 0, delta = 0;
      for (int j = 0; j <= i; ++j) {
        double s = 0;
        for (int c = 0; c < 8; ++c)
          s += double(to_float(p.in.q[std::size_t(row) * 8 + c])) *
               to_float(p.in.k[std::size_t(head * p.shape.S + j) * 8 + c]);
        sum += std::exp(p.scale * s - g.L[row]);
      }
      for (int c = 0; c < 8; ++c) delta += out[std::size_t(row) * 8 + c] * to_float(p.dout[std::size_t(row) * 8 + c]);
      CHECK(sum == doctest::Approx(1).epsilon(1e-12));
      CHECK(g.delta[row] == doctest::Approx(delta).epsilon(1e-12));
    }
  }

  TEST_CASE("a hidden pair is left out, or adds zero times what is there") {
    Problem p = problem_of({1, 1, 4, 8, true}, 0.35);
    const Gradients before = backward(p.shape, p.scale, p.in.q, p.in.k, p.in.v, p.dout);
    p.in.k[3 * 8 + 2] = FP16_NAN;  // key 3, which row 3 alone sees
    const Gradients left_out = backward(p.shape, p.scale, p.in.q, p.in.k, p.in.v, p.dout);
    const Gradients zero = backward(p.shape, p.scale, p.in.q, p.in.k, p.in.v, p.dout, Hidden::times_zero);
    for (int c = 0; c < 8; ++c) {
      CHECK(left_out.dq[c] == before.dq[c]);
      CHECK(std::isnan(left_out.dq[3 * 8 + c]));
      CHECK(std::isnan(zero.dq[c]) == (c == 2));
      CHECK(std::isnan(left_out.dv[c]));  // row 3 sees key 0 too
    }
  }

  TEST_CASE("tensors of the wrong length are refused") {
    const Problem p = problem_of({1, 1, 4, 8, false}, 1);
    CHECK_THROWS_AS(backward(p.shape, 1, p.in.q, p.in.k, p.in.v, Tensor(p.dout).first(31)), BadInput);
    CHECK_THROWS_AS(backward({1, 1, 0, 8, false}, 1, {}, {}, {}, {}), BadInput);
  }
}

}  // namespace
}  // namespace lab
