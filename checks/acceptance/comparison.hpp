// An output against the oracle, element by element: the acceptance, the fuzzer, signatures, error maps, the validator and
// the benchmark compare with this.
#pragma once
#include <cmath>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "checks/acceptance/problem.hpp"
#include "common/fp16.hpp"

namespace lab {

// Calls each(index in [B,H,S,D], row, col) for the elements of these rows.
template <class Each>
void for_elements(const Shape& shape, std::span<const RowBlock> rows, Each each) {
  const std::size_t D = std::size_t(shape.D);
  for (const RowBlock& block : rows)
    for (int row = block.first; row < block.first + block.rows; ++row) {
      const std::size_t begin = (std::size_t(block.head) * std::size_t(shape.S) + std::size_t(row)) * D;
      for (std::size_t col = 0; col < D; ++col) each(begin + col, row, int(col));
    }
}

struct SeenElement {
  int output = 0, b = 0, h = 0, row = 0, col = 0;
  float got = 0;
  double expected = 0, allowed = 0;
};

struct Comparison {
  std::size_t compared = 0, outside = 0, nans = 0;  // nans: where none should be
  std::size_t poison = 0;                           // never written, or made of it
  double max_diff = 0;                              // where both are finite
  double worst_ratio = 0;                           // |out - ref| / allowed, at its largest; infinite for a NaN
  std::optional<SeenElement> first, worst;          // the first outside its bound; the furthest outside, or closest
  bool good() const { return outside == 0; }
  double largest() const { return std::isinf(worst_ratio) ? INFINITY : max_diff; }
};

struct Holding {
  std::function<bool(int row, int col)> where = nullptr;  // which elements count; none: all of them
  bool poison_is_nan = false;  // bits of the poison where NaN is right: a prediction is of values alone
  int output = 0;              // which of the subject's
};

// Adds the elements of `rows` of `out` ([B,H,S,D]) to `sum`; `right` has these rows only, one after the other.
void compare(const Shape& shape, std::span<const RowBlock> rows, std::span<const fp16> out, const Expected& right,
             Comparison& sum, const Holding& holding = {});
// How many are outside, and the worst of them: two lines, or none. `names` are the outputs', where there are several.
std::vector<std::string> lines_of(const Comparison& comparison, const std::vector<const char*>& names = {});

// A mark for each element of `out`: '.' right or not of these rows, '#' wrong, 'N' NaN that should not be, '~' never written.
std::string marks_of(const Shape& shape, std::span<const RowBlock> rows, std::span<const fp16> out,
                     const Expected& right);
// The first head that has marks, from the first 128 rows that do: each character is the worst of its rows and columns. Lines that are
// the same are one.
std::vector<std::string> map_of(const Shape& shape, const std::string& marks, const std::string& key);

// Elements of these rows whose bits are others.
struct Differing {
  std::size_t compared = 0, differing = 0, first = 0;  // first: index in [B,H,S,D]
};
Differing differing(const Shape& shape, std::span<const RowBlock> rows, std::span<const fp16> one,
                    std::span<const fp16> other);
// The rows in which anything but the poison stands, ascending.
std::vector<RowBlock> written_rows(const Shape& shape, std::span<const fp16> out);
// "(b,h,row,col) = (0,1,2,3)"
std::string place_of(const Shape& shape, std::size_t element);
std::string number(float x);  // "NaN" without a sign, which says nothing

}  // namespace lab
