#include "checks/acceptance/comparison.hpp"

#include <algorithm>
#include <set>

#include "checks/acceptance/format.hpp"

namespace lab {
void compare(const Shape& shape, std::span<const RowBlock> rows, std::span<const fp16> out, const Expected& right,
             Comparison& sum, const Holding& holding) {
  std::size_t next = 0;
  const std::size_t head = std::size_t(shape.S) * std::size_t(shape.D);
  for_elements(shape, rows, [&](std::size_t i, int row, int col) {
    const std::size_t at = next++;
    if (holding.where && !holding.where(row, col)) return;
    const double ref = right.value[at];
    const fp16 bits = out[i];
    const float got = to_float(bits);
    ++sum.compared;
    sum.poison += bits == FP16_NAN;
    const bool written = bits != FP16_NAN || (holding.poison_is_nan && std::isnan(ref));
    const bool good = written && is_right(right, at, got), finite = std::isfinite(ref);
    if (good && (!finite || !std::isfinite(got))) return;
    const double allowed = finite ? right.allowed[at] : 0;
    const int bh = int(i / head);
    const SeenElement seen{holding.output, bh / shape.H, bh % shape.H, row, col, got, ref, allowed};
    const double diff = std::abs(got - ref), ratio = finite && !std::isnan(got) ? diff / allowed : INFINITY;
    sum.nans += std::isnan(got);
    if (finite && diff > sum.max_diff) sum.max_diff = diff;
    if (!good && sum.outside++ == 0) sum.first = seen;
    if (!sum.worst || ratio > sum.worst_ratio) sum.worst_ratio = ratio, sum.worst = seen;
  });
}

std::vector<std::string> lines_of(const Comparison& c, const std::vector<const char*>& names) {
  if (c.good()) return {};
  std::string nans;
  if (c.nans > 0)
    nans = format("; %zu are NaN, %zu of them with the poison's bits (not written, or made of it)", c.nans, c.poison);
  const SeenElement& w = *c.worst;
  return {format("%zu of %zu elements outside the bound%s", c.outside, c.compared, nans.c_str()),
          format("worst %s%s(b,h,row,col) = (%d,%d,%d,%d): got %s, expected %.6g, allowed +-%.3g",
                 names.size() > 1 ? names[std::size_t(w.output)] : "", names.size() > 1 ? " " : "", w.b, w.h, w.row,
                 w.col, number(w.got).c_str(), w.expected, w.allowed)};
}

std::string marks_of(const Shape& shape, std::span<const RowBlock> rows, std::span<const fp16> out,
                     const Expected& right) {
  std::string marks(out.size(), '.');
  std::size_t next = 0;
  for_elements(shape, rows, [&](std::size_t i, int, int) {
    const std::size_t at = next++;
    if (const float got = to_float(out[i]); out[i] == FP16_NAN || !is_right(right, at, got))
      marks[i] = out[i] == FP16_NAN ? '~' : std::isnan(got) ? 'N' : '#';
  });
  return marks;
}

std::vector<std::string> map_of(const Shape& shape, const std::string& marks, const std::string& key) {
  constexpr int ROWS = 8, LINES = 16;  // a line is what one warp of eight owns of a 64-row tile
  const std::size_t D = std::size_t(shape.D), head = std::size_t(shape.S) * D;
  const std::size_t at = std::min(marks.find_first_not_of('.'), head * shape.B * shape.H - 1), begin = at / head * head;
  const int first = int(at % head / D) / (ROWS * LINES) * (ROWS * LINES);
  const int cols = std::max(2, shape.D / 32), last = std::min(shape.S, first + ROWS * LINES);
  std::vector<std::string> lines = {format("head %zu, rows %d..%d of %d, a character is %d rows x %d columns: ",
                                           begin / head, first, last - 1, shape.S, ROWS, cols) +
                                    key};
  struct Same {
    int first, end;
    std::string marks;
  };
  std::vector<Same> runs;
  for (int r0 = first; r0 < last; r0 += ROWS) {
    std::string line;
    for (int c0 = 0; c0 < shape.D; c0 += cols) {
      char worst = '.';
      for (int r = r0; r < std::min(shape.S, r0 + ROWS); ++r)
        for (int c = c0; c < c0 + cols; ++c)
          if (const char m = marks[begin + std::size_t(r) * D + std::size_t(c)]; m != '.') worst = m;
      line += worst;
    }
    if (runs.empty() || runs.back().marks != line) runs.push_back({r0, 0, line});
    runs.back().end = std::min(r0 + ROWS, last);
  }
  if (runs.size() == 1 && runs[0].marks.find_first_not_of('#') == runs[0].marks.npos) {  // a map of one colour
    std::set<std::size_t> wrong_rows, wrong_columns;
    for (std::size_t i = first * D; i < last * D; ++i)
      if (marks[begin + i] != '.') wrong_rows.insert(i / D), wrong_columns.insert(i % D);
    return {format("head %zu, rows %d..%d of %d: wrong elements in %zu of %d rows and %zu of %d columns", begin / head,
                   first, last - 1, shape.S, wrong_rows.size(), last - first, wrong_columns.size(), shape.D)};
  }
  constexpr std::size_t MOST = 6;
  for (std::size_t i = 0; i < std::min(MOST, runs.size()); ++i)
    lines.push_back(format("  row  %-9s ", format("%d..%d", runs[i].first, runs[i].end - 1).c_str()) + runs[i].marks);
  if (runs.size() > MOST)
    lines.push_back(format("  row  %d..%d differ in %zu more places", runs[MOST].first, last - 1, runs.size() - MOST));
  return lines;
}

Differing differing(const Shape& shape, std::span<const RowBlock> rows, std::span<const fp16> one,
                    std::span<const fp16> other) {
  Differing d;
  for_elements(shape, rows, [&](std::size_t i, int, int) {
    ++d.compared;
    if (one[i] != other[i] && d.differing++ == 0) d.first = i;
  });
  return d;
}

std::vector<RowBlock> written_rows(const Shape& shape, std::span<const fp16> out) {
  std::vector<RowBlock> rows;
  const std::size_t D = std::size_t(shape.D);
  for (std::size_t row = 0; row < shape.rows(); ++row) {
    const std::span<const fp16> all = out.subspan(row * D, D);
    if (std::ranges::all_of(all, [](fp16 x) { return x == FP16_NAN; })) continue;
    const int head = int(row / std::size_t(shape.S)), in_head = int(row % std::size_t(shape.S));
    if (!rows.empty() && rows.back().head == head && rows.back().first + rows.back().rows == in_head)
      ++rows.back().rows;
    else
      rows.push_back({head, in_head, 1});
  }
  return rows;
}

std::string place_of(const Shape& shape, std::size_t element) {
  const std::size_t D = std::size_t(shape.D), S = std::size_t(shape.S), H = std::size_t(shape.H), row = element / D;
  return format("(b,h,row,col) = (%zu,%zu,%zu,%zu)", row / S / H, row / S % H, row % S, element % D);
}

std::string number(float x) { return std::isnan(x) ? "NaN" : format("%.6g", x); }

}  // namespace lab
