#include "checks/acceptance/comparison.hpp"

#include "checks/acceptance/format.hpp"

namespace lab {
namespace {

// Whether an element is as it must be where the right answer has no bound, or NaN is right too.
bool without_bound(fp16 bits, double right, bool poison_is_nan) {
  if (bits == FP16_NAN && !(poison_is_nan && std::isnan(right))) return false;
  const float got = to_float(bits);
  return std::isnan(right) ? std::isnan(got) : std::isfinite(right) || got == float(right);
}

// Calls each(index in [B,H,S,D], row, col) for the elements of a block of rows.
template <class Each>
void for_elements(const Shape& shape, const RowBlock& block, Each each) {
  const std::size_t D = std::size_t(shape.D);
  for (int row = block.first; row < block.first + block.rows; ++row) {
    const std::size_t begin = (std::size_t(block.head) * std::size_t(shape.S) + std::size_t(row)) * D;
    for (std::size_t col = 0; col < D; ++col) each(begin + col, row, int(col));
  }
}

}  // namespace

void compare(const Shape& shape, std::span<const RowBlock> rows, std::span<const fp16> out, const Expected& right,
             Comparison& sum, const Holding& holding) {
  std::size_t at = 0;
  for (const RowBlock& block : rows)
    for_elements(shape, block, [&](std::size_t i, int row, int col) {
      const double ref = right.value[at], allowed = right.allowed[at];
      ++at;
      const Held held = holding.to ? holding.to(block.head, row, col) : Held::bound;
      if (held == Held::nothing) return;
      const fp16 bits = out[i];
      const float got = to_float(bits);
      const auto element = [&](double bound) {
        return SeenElement{block.head / shape.H, block.head % shape.H, row, col, got, ref, bound};
      };
      ++sum.compared;
      sum.poison += bits == FP16_NAN;
      if (!std::isfinite(ref) || (std::isnan(got) && held == Held::bound_or_nan)) {
        if (without_bound(bits, ref, holding.poison_is_nan)) return;
        ++sum.outside;
        sum.nans += std::isnan(got);
        sum.worst_ratio = INFINITY;
        sum.worst = element(0);
        if (!sum.first) sum.first = sum.worst;
        return;
      }
      const double diff = std::abs(got - ref), ratio = std::isnan(got) ? INFINITY : diff / allowed;
      sum.nans += std::isnan(got);
      if (diff > sum.max_diff) sum.max_diff = diff;
      if (!(diff <= allowed) && ++sum.outside && !sum.first) sum.first = element(allowed);
      if (!sum.worst || ratio > sum.worst_ratio) sum.worst_ratio = ratio, sum.worst = element(allowed);
    });
}

std::vector<std::string> lines_of(const Comparison& c) {
  if (c.good()) return {};
  std::string nans;
  if (c.nans > 0)
    nans = format("; %zu are NaN, %zu of them with the poison's bits (not written, or made of it)", c.nans, c.poison);
  const SeenElement& w = *c.worst;
  return {format("%zu of %zu elements outside the bound%s", c.outside, c.compared, nans.c_str()),
          format("worst (b,h,row,col) = (%d,%d,%d,%d): got %s, expected %.6g, allowed +-%.3g", w.b, w.h, w.row, w.col,
                 number(w.got).c_str(), w.expected, w.allowed)};
}

Differing differing(const Shape& shape, std::span<const RowBlock> rows, std::span<const fp16> one,
                    std::span<const fp16> other) {
  Differing d;
  for (const RowBlock& block : rows)
    for_elements(shape, block, [&](std::size_t i, int, int) {
      ++d.compared;
      if (one[i] != other[i] && d.differing++ == 0) d.first = i;
    });
  return d;
}

std::string place_of(const Shape& shape, std::size_t element) {
  const std::size_t D = std::size_t(shape.D), S = std::size_t(shape.S), H = std::size_t(shape.H), row = element / D;
  return format("(b,h,row,col) = (%zu,%zu,%zu,%zu)", row / S / H, row / S % H, row % S, element % D);
}

std::string number(float x) { return std::isnan(x) ? "NaN" : format("%.6g", x); }

}  // namespace lab
