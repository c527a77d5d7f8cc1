// The bound of the forward pass: tolerance.hpp derives it.
#include <algorithm>
#include <cmath>

#include "checks/acceptance/problem.hpp"
#include "checks/acceptance/tolerance.hpp"

namespace lab {
namespace {

double finite_magnitude(fp16 x) {  // NaN and infinities have no bound
  const double magnitude = std::abs(double(to_float(x)));
  return std::isfinite(magnitude) ? magnitude : 0;
}

// Length of the longest row of a [rows, D] tensor.
double longest_row(std::span<const fp16> rows, int D) {
  double longest = 0;
  for (std::size_t begin = 0; begin < rows.size(); begin += std::size_t(D)) {
    double squares = 0;
    for (const fp16 x : rows.subspan(begin, std::size_t(D))) squares += finite_magnitude(x) * finite_magnitude(x);
    longest = std::max(longest, squares);
  }
  return std::sqrt(longest);
}

// T of tolerance.hpp, points 8 to 11.
double moved_weight(const Head& head, double scale, int row, int keys) {
  const double *const q = head.q_row(row), *const first = head.k_row(0);
  int n = 1;
  while (n < keys && std::equal(first, first + head.D, head.k_row(n))) ++n;
  if (n == keys) return 0;

  std::vector<double> scores(keys), magnitudes(keys);
  for (n = 0; n < keys; ++n) {
    const double* const k = head.k_row(n);
    scores[n] = scale * dot(q, k, head.D);
    for (int d = 0; d < head.D; ++d) magnitudes[n] += std::abs(q[d] * k[d]);
    magnitudes[n] *= std::abs(scale);
  }
  const int largest = int(std::ranges::max_element(scores) - scores.begin());
  double moved = 0, kept = 1;
  for (n = 0; n < keys; ++n) {
    if (n == largest) continue;
    const double gap = scores[largest] - scores[n];
    const double error = FP32_ROUNDING * ((head.D + 2) * (magnitudes[n] + magnitudes[largest]) + 12 * gap);
    moved += std::exp(error - gap) - std::exp(-gap);
    kept += std::exp(-error - gap);
  }
  return std::min(1.0, moved / kept);
}

// Each query row's part of the bound.
std::vector<RowError> row_errors(const Shape& shape, double scale, const Inputs& in, std::span<const RowBlock> blocks,
                                 bool half_p) {
  std::vector<RowError> errors;
  std::vector<RowBlock> large;      // rows whose scores are beyond the first order,
  std::vector<std::size_t> places;  // and where `errors` has them
  const std::size_t D = std::size_t(shape.D), head_size = std::size_t(shape.S) * D;
  int head = -1;
  double longest_k = 0;
  for (const RowBlock& block : blocks) {
    const std::size_t begin = std::size_t(block.head) * head_size;
    if (block.head != head) longest_k = longest_row(std::span(in.k).subspan(begin, head_size), shape.D);
    head = block.head;
    for (int row = block.first; row < block.first + block.rows; ++row) {
      const std::span q = std::span(in.q).subspan(begin + std::size_t(row) * D, D);
      const double largest_score = std::abs(scale) * longest_row(q, shape.D) * longest_k;
      if (score_error(shape.D, largest_score) > FIRST_ORDER)
        large.push_back({head, row, 1}), places.push_back(errors.size());
      errors.push_back(row_error(shape.D, visible_keys(shape, row), largest_score, half_p));
    }
  }
  if (large.empty()) return errors;
  const auto row = [&](const Head& loaded, int i, double* out) {
    *out = moved_weight(loaded, scale, i, visible_keys(shape, i));
  };
  const std::vector<double> moved = for_rows({shape, scale, in.q, in.k, in.v}, row, large);
  for (std::size_t i = 0; i < large.size(); ++i)
    errors[places[i]] = large_row_error(shape.D, visible_keys(shape, large[i].first), moved[i * D], half_p);
  return errors;
}

}  // namespace

Expected expected(const Shape& shape, double scale, const Inputs& in, std::span<const RowBlock> chosen, bool half_p) {
  const std::vector<RowBlock> rows =
      chosen.empty() ? all_rows(shape) : std::vector<RowBlock>(chosen.begin(), chosen.end());
  Expected e;
  e.value = attention({shape, scale, in.q, in.k, in.v}, rows);
  std::vector<fp16> abs_v = in.v;
  for (fp16& x : abs_v) x.bits &= 0x7FFF;
  // The mean of |v| becomes the bound, element by element.
  e.allowed = abs_v == in.v ? e.value : attention({shape, scale, in.q, in.k, abs_v}, rows);

  const std::vector<RowError> errors = row_errors(shape, scale, in, rows, half_p);
  const std::size_t head_size = std::size_t(shape.S) * std::size_t(shape.D);
  std::size_t at = 0, row_number = 0;
  int head = -1;
  double max_abs_v = 0;  // of a head: what other heads hold moves no output of it
  for (const RowBlock& block : rows) {
    if (block.head != head) {
      head = block.head, max_abs_v = 0;
      for (const fp16 x : std::span(abs_v).subspan(std::size_t(head) * head_size, head_size))
        max_abs_v = std::max(max_abs_v, finite_magnitude(x));
    }
    for (int row = 0; row < block.rows; ++row, ++row_number)
      for (int col = 0; col < shape.D; ++col, ++at)
        e.allowed[at] = allowed_error(errors[row_number], std::abs(e.value[at]), e.allowed[at], max_abs_v);
  }
  return e;
}

Expected loosely(std::vector<double> values, const Shape& shape, double scale, const Inputs& in, bool half_p) {
  const double largest_score = std::abs(scale) * longest_row(in.q, shape.D) * longest_row(in.k, shape.D);
  const RowError error = row_error(shape.D, shape.S, largest_score, half_p);
  double max_v = 0;
  for (const fp16 x : in.v) max_v = std::max(max_v, finite_magnitude(x));
  Expected e{std::move(values), {}, {}};
  for (const double value : e.value) e.allowed.push_back(allowed_error(error, std::abs(value), max_v, max_v));
  return e;
}

}  // namespace lab
