#include "checks/acceptance/problem.hpp"

#include <cmath>

#include "checks/acceptance/backward_bound.hpp"
#include "checks/acceptance/tolerance.hpp"

namespace lab {
namespace {

// A NaN or infinity in V of a key that the row does not see: its weight of 0 times that is NaN where the tile's product
// takes it along. The dense formula with a mask does so too; the oracle, which never touches such a key, does not. Both
// are right.
bool may_be_nan(const Shape& shape, int head, int row, int col) {
  const Special s = special_of(head, shape);
  return s.tensor == 'v' && s.col == col && s.row >= visible_keys(shape, row);
}

}  // namespace

bool is_right(const Expected& e, std::size_t at, float got) {
  const auto same = [&](double x) { return std::isnan(x) ? std::isnan(got) : double(got) == x; };
  if (!e.also.empty() && !std::isfinite(e.also[at]) && same(e.also[at])) return true;
  if (!std::isfinite(e.value[at])) return same(e.value[at]);
  return std::isfinite(got) && std::abs(double(got) - e.value[at]) <= e.allowed[at];
}

std::vector<Expected> oracle(const Subject& subject, const Problem& p, std::span<const RowBlock> chosen) {
  if (subject.backward) return expected_backward(p.shape, p.scale, p.in, subject.half_p);
  const std::vector<RowBlock> rows = chosen.empty() ? all_rows(p.shape) : std::vector(chosen.begin(), chosen.end());
  if (p.notes) {
    std::vector<double> value = attention({p.shape, p.scale, p.in.q, p.in.k, p.in.v}, rows);
    std::vector<double> allowed(value.size(), NOTES_TOLERANCE);
    return {{std::move(value), std::move(allowed), {}}};
  }
  Expected e = expected(p.shape, p.scale, p.in, rows, subject.half_p);
  if (p.family == Family::special)
    for (const RowBlock& block : rows)
      for (int row = block.first; row < block.first + block.rows; ++row)
        for (int col = 0; col < p.shape.D; ++col) e.also.push_back(may_be_nan(p.shape, block.head, row, col) ? NAN : 0);
  return {std::move(e)};
}

}  // namespace lab
