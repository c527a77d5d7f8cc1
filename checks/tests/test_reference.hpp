// The judge is judged, against closed forms or a naive computation that shares no code with reference/: what the tests
// of the oracle, of the inputs and of the wrong answers share.
#pragma once
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "common/fp16.hpp"
#include "common/shape.hpp"
#include "reference/attention.hpp"
#include "reference/bad_input.hpp"
#include "reference/inputs.hpp"
#include "reference/wrong_answers.hpp"

namespace lab::judge {

inline constexpr Shape MISSION{1, 8, 512, 64};
inline constexpr double CLOSE = 1e-12;         // between two fp64 computations of the same thing
inline constexpr double FAR = 100 * 1e-3;      // what a bug must move an output by, to be told from rounding
inline constexpr double NEVER = std::nan("");  // what a prediction holds where the kernel writes nothing
inline constexpr double INF = std::numeric_limits<double>::infinity();

inline bool is_nan(fp16 h) { return (h.bits & 0x7FFF) > 0x7C00; }
inline fp16 half(double x) { return to_fp16(float(x)); }
inline std::vector<double> right(const Shape& s, const Inputs& in, std::span<const RowBlock> rows = {}) {
  return attention(s, default_scale(s.D), in.q, in.k, in.v, rows);
}

// The largest difference; NaN on one side only counts as infinite.
inline double difference(const std::vector<double>& a, const std::vector<double>& b) {
  REQUIRE(a.size() == b.size());
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) && std::isnan(b[i])) continue;
    const double d = a[i] == b[i] ? 0 : std::abs(a[i] - b[i]);
    largest = std::max(largest, std::isnan(d) ? INF : d);
  }
  return largest;
}

// One element; rows past S are zeros, as in a kernel's tile.
inline double at(const Shape& s, const std::vector<fp16>& tensor, int head, int row, int col) {
  return row < s.S ? to_float(tensor[(std::size_t(head) * s.S + row) * s.D + col]) : 0.0;
}

// The product of a query and of what a kernel takes for a key.
template <class Element>
double dot_with(const Shape& s, const Inputs& in, int head, int i, Element element) {
  double sum = 0;
  for (int c = 0; c < s.D; ++c) sum += at(s, in.q, head, i, c) * element(c);
  return sum;
}
inline double naive_score(const Shape& s, const Inputs& in, double scale, int head, int i, int n) {
  double sum = 0;
  for (int c = 0; c < s.D; ++c) sum += at(s, in.q, head, i, c) * at(s, in.k, head, n, c);
  return sum * scale;
}

// One row at a time: row(head, i, o) adds weighted rows of V to o and returns the sum of the weights.
template <class Row>
std::vector<double> by_rows(const Shape& s, Row row) {
  std::vector<double> out;
  for (int head = 0; head < s.B * s.H; ++head)
    for (int i = 0; i < s.S; ++i) {
      std::vector<double> o(std::size_t(s.D), 0.0);
      const double l = row(head, i, o);
      for (const double element : o) out.push_back(element / l);
    }
  return out;
}

// The formula as it stands, any score: softmax without subtracting a maximum (so scores must be small).
using Score = std::function<double(int head, int i, int n)>;
inline std::vector<double> naive(const Shape& s, const Inputs& in, const Score& score) {
  return by_rows(s, [&](int head, int i, std::vector<double>& o) {
    double l = 0;
    for (int n = 0; n < (s.causal ? i + 1 : s.S); ++n) {
      const double p = std::exp(score(head, i, n));
      l += p;
      for (int c = 0; c < s.D; ++c) o[c] += p * at(s, in.v, head, n, c);
    }
    return l;
  });
}
inline std::vector<double> naive(const Shape& s, const Inputs& in) {
  return naive(s, in, [&](int head, int i, int n) { return naive_score(s, in, default_scale(s.D), head, i, n); });
}

// Ragged against every tile, in both masks, in both head dimensions.
inline constexpr Shape RAGGED[] = {
    {1, 2, 200, 64, false}, {2, 1, 200, 64, true}, {1, 1, 113, 128, false}, {1, 2, 113, 128, true}};

inline std::string describe(const Shape& s) {
  return "S=" + std::to_string(s.S) + " D=" + std::to_string(s.D) + (s.causal ? " causal" : "");
}

// A tensor of element(head, row, column).
template <class Element>
std::vector<fp16> tensor(const Shape& s, Element element) {
  std::vector<fp16> made;
  for (int head = 0; head < s.B * s.H; ++head)
    for (int n = 0; n < s.S; ++n)
      for (int c = 0; c < s.D; ++c) made.push_back(element(head, n, c));
  return made;
}

// wrong::f with these arguments of its own.
using Predict = std::function<std::vector<double>(const Shape&, const Inputs&, std::span<const RowBlock>)>;
template <class Wrong, class... More>
Predict of(Wrong f, const More&... more) {
  return [=](const Shape& s, const Inputs& x, std::span<const RowBlock> rows) {
    return f(s, default_scale(s.D), x.q, x.k, x.v, more..., rows);
  };
}
template <class Wrong, class... More>
void check_refused(Wrong f, const More&... more) {
  const Inputs in = make_inputs(Family::unit, RAGGED[0], 1);
  CHECK_THROWS_AS(of(f, more...)(RAGGED[0], in, {}), BadInput);
}

// A prediction: equal to the naive one, far from the right answer, and the same on a sample of rows.
inline void check_prediction(const Shape& s, const Predict& predict,
                             const std::function<std::vector<double>(const Inputs&)>& expected) {
  CAPTURE(describe(s));
  const Inputs in = make_inputs(Family::unit, s, 5);
  const std::vector<double> predicted = predict(s, in, {});
  CHECK(difference(predicted, expected(in)) < CLOSE);
  const std::vector<double> correct = right(s, in);
  double apart = 0;
  for (std::size_t i = 0; i < predicted.size(); ++i)
    if (!std::isnan(predicted[i])) apart = std::max(apart, std::abs(predicted[i] - correct[i]));
  CHECK(apart >= FAR);
  const int last = s.B * s.H - 1;
  const std::vector<RowBlock> sample = {{last, s.S - 20, 20}, {0, 33, 1}};
  std::vector<double> chosen;
  for (const RowBlock& b : sample)
    for (std::size_t i = 0; i < std::size_t(b.rows) * s.D; ++i)
      chosen.push_back(predicted[(std::size_t(b.head) * s.S + b.first) * s.D + i]);
  CHECK(difference(predict(s, in, sample), chosen) == 0);
}

}  // namespace lab::judge
