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
inline constexpr double CLOSE = 1e-12;     // between two fp64 computations of the same thing
inline constexpr double FAR = 100 * 1e-3;  // what a bug must move an output by, to be told from rounding
inline constexpr double INF = std::numeric_limits<double>::infinity();

inline bool is_nan(fp16 h) { return (h.bits & 0x7FFF) > 0x7C00; }
inline std::vector<double> right(const Shape& s, const Inputs& in, std::span<const RowBlock> rows = {}) {
  return attention({s, default_scale(s.D), in.q, in.k, in.v}, rows);
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

inline double naive_score(const Shape& s, const Inputs& in, double scale, int head, int i, int n) {
  double sum = 0;
  for (int c = 0; c < s.D; ++c) sum += at(s, in.q, head, i, c) * at(s, in.k, head, n, c);
  return sum * scale;
}

// The formula as it stands, any score: softmax without subtracting a maximum (so scores must be small).
using Score = std::function<double(int head, int i, int n)>;
inline std::vector<double> naive(const Shape& s, const Inputs& in, const Score& score) {
  std::vector<double> out;
  for (int head = 0; head < s.B * s.H; ++head)
    for (int i = 0; i < s.S; ++i) {
      std::vector<double> o(std::size_t(s.D), 0.0);
      double l = 0;
      for (int n = 0; n < (s.causal ? i + 1 : s.S); ++n) {
        const double p = std::exp(score(head, i, n));
        l += p;
        for (int c = 0; c < s.D; ++c) o[std::size_t(c)] += p * at(s, in.v, head, n, c);
      }
      for (const double element : o) out.push_back(element / l);
    }
  return out;
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

}  // namespace lab::judge
