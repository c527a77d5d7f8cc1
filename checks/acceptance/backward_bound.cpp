#include "checks/acceptance/backward_bound.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace lab {
namespace {

constexpr double INF = std::numeric_limits<double>::infinity();

double finite(double x) { return std::isfinite(x) ? x : 0; }

// The length of each row of a [S, D] tensor; NaN and infinities have no bound.
std::vector<double> row_norms(const std::vector<double>& rows, int S, int D) {
  std::vector<double> norms(S);
  for (int r = 0; r < S; ++r) {
    double squares = 0;
    for (int c = 0; c < D; ++c) {
      const double x = finite(rows[std::size_t(r) * D + c]);
      squares += x * x;
    }
    norms[r] = std::sqrt(squares);
  }
  return norms;
}

std::vector<double> magnitudes(std::vector<double> values) {
  for (double& x : values) x = std::abs(x);
  return values;
}

// X and Y of point 6, in place of dS and P; false where some row is beyond the first order.
bool pair_errors(BackwardHead& h, double scale, bool half_p) {
  const std::vector<double> q = row_norms(h.q, h.S, h.D), k = row_norms(h.k, h.S, h.D), v = row_norms(h.v, h.S, h.D),
                            dout = row_norms(h.dout, h.S, h.D);
  const double max_k = std::ranges::max(k), max_v = std::ranges::max(v), magnitude = std::abs(scale);
  const double u = FP32_ROUNDING, D = h.D, terms = h.S * u;
  const double unit = std::max(1.0, 0x1p-13 * (1 + FP16_ROUNDING) * std::ranges::max(dout) * max_v);
  for (int i = 0; i < h.S; ++i) {
    const int keys = h.causal ? i + 1 : h.S;
    const double e = weight_error(h.D, keys, magnitude * q[i] * max_k, half_p);
    if (e > FIRST_ORDER + (half_p ? FP16_ROUNDING : 0)) return false;
    const double delta_error = (2 * e + (D + 2 * keys + 2) * u) * dout[i] * max_v;
    for (int j = 0; j < keys; ++j) {
      double &P = h.P[h.at(i, j)], &dS = h.dS[h.at(i, j)];
      const double t = std::abs(h.dP[h.at(i, j)] - h.delta[i]), product = magnitude * P * t;
      dS = magnitude * P * ((e + 3 * u) * t + D * u * dout[i] * v[j] + delta_error) + terms * product;
      if (half_p) dS += FP16_ROUNDING * product + FP16_HALF_STEP * magnitude * (unit + t);
      P = P * (e + terms) + (half_p ? FP16_HALF_STEP : 0);
    }
  }
  return true;
}

}  // namespace

double weight_error(int head_dim, int visible_keys, double largest_score, bool half_p) {
  const double units =
      (2 * head_dim + 16) * largest_score + 2.0 * visible_keys + 8 * std::log(double(visible_keys)) + 8;
  return units * FP32_ROUNDING + (half_p ? FP16_ROUNDING : 0);
}

Inputs make_backward_inputs(Family family, const Shape& shape, std::uint64_t seed, double amplitude,
                            const Magnitudes& magnitudes) {
  constexpr std::uint64_t OF_DOUT = 0x646F7574;  // another seed than that of v
  Inputs in = make_inputs(family, shape, seed, {}, amplitude);
  in.dout = make_inputs(Family::unit, shape, seed ^ OF_DOUT).v;
  const auto multiply = [&](std::vector<fp16>& tensor, double factor, std::size_t first) {
    if (factor == 1) return;
    for (std::size_t i = first * std::size_t(shape.D); i < tensor.size(); ++i)
      tensor[i] = to_fp16(float(std::clamp(factor * to_float(tensor[i]), -LARGEST_HALF, LARGEST_HALF)));
  };
  multiply(in.q, magnitudes.q, 0), multiply(in.k, magnitudes.k, 0);
  multiply(in.v, magnitudes.v, magnitudes.first), multiply(in.dout, magnitudes.dout, magnitudes.first);
  return in;
}

std::vector<Expected> expected_backward(const Shape& shape, double scale, const Inputs& in, bool half_p) {
  Gradients right = backward(shape, scale, in.q, in.k, in.v, in.dout), zero;
  std::vector<Expected> all(3);
  all[0].value = std::move(right.dq), all[1].value = std::move(right.dk), all[2].value = std::move(right.dv);
  for (Expected& g : all) g.allowed.resize(shape.elements());

  const std::size_t head_size = std::size_t(shape.S) * shape.D;
  for_backward_heads(shape, scale, in.q, in.k, in.v, in.dout, Hidden::left_out, [&](BackwardHead& h) {
    const std::size_t begin = std::size_t(h.number) * head_size;
    if (!pair_errors(h, scale, half_p)) {
      for (Expected& g : all) std::fill_n(g.allowed.begin() + std::ptrdiff_t(begin), head_size, INF);
      return;
    }
    add_product(h, h.dS, false, magnitudes(h.k).data(), Hidden::left_out, &all[0].allowed[begin]);
    add_product(h, h.dS, true, magnitudes(h.q).data(), Hidden::left_out, &all[1].allowed[begin]);
    add_product(h, h.P, true, magnitudes(h.dout).data(), Hidden::left_out, &all[2].allowed[begin]);
  });

  const auto finite_all = [](const Expected& g) {
    return std::ranges::all_of(g.value, [](double x) { return std::isfinite(x); });
  };
  if (!std::ranges::all_of(all, finite_all))
    zero = backward(shape, scale, in.q, in.k, in.v, in.dout, Hidden::times_zero);
  all[0].also = std::move(zero.dq), all[1].also = std::move(zero.dk), all[2].also = std::move(zero.dv);
  for (Expected& g : all) {
    g.also.resize(g.value.size());
    for (std::size_t i = 0; i < g.value.size(); ++i) {
      const double value = g.value[i], allowed = g.allowed[i] += FP16_ROUNDING * std::abs(value) + FP16_HALF_STEP;
      // 65520 is half a step above the largest half.
      if (std::isfinite(value) && std::isfinite(allowed) && std::abs(value) + allowed >= 65520)
        g.also[i] = std::copysign(INF, value);
    }
  }
  return all;
}

}  // namespace lab
