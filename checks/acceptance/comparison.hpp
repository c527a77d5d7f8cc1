// An output against the oracle, element by element: the acceptance, the fuzzer, fingerprints, error maps, the referee and
// the benchmark compare with this.
#pragma once
#include <cmath>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "checks/acceptance/expected.hpp"
#include "common/fp16.hpp"

namespace lab {

struct SeenElement {
  int b = 0, h = 0, row = 0, col = 0;
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

// The condition on an element. NaN and infinities of the right answer must come out as they are.
enum class Held { bound, bound_or_nan, nothing };
struct Holding {
  std::function<Held(int head, int row, int col)> to = nullptr;  // none: all elements to their bound
  bool poison_is_nan = false;  // bits of the poison where NaN is right: a prediction is of values alone
};

// Adds the elements of `rows` of `out` ([B,H,S,D]) to `sum`; `right` has these rows only, one after the other.
void compare(const Shape& shape, std::span<const RowBlock> rows, std::span<const fp16> out, const Expected& right,
             Comparison& sum, const Holding& holding = {});
// How many are outside, and the worst of them: two lines, or none.
std::vector<std::string> lines_of(const Comparison& comparison);

// Elements of these rows whose bits are others.
struct Differing {
  std::size_t compared = 0, differing = 0, first = 0;  // first: index in [B,H,S,D]
};
Differing differing(const Shape& shape, std::span<const RowBlock> rows, std::span<const fp16> one,
                    std::span<const fp16> other);
// "(b,h,row,col) = (0,1,2,3)"
std::string place_of(const Shape& shape, std::size_t element);
std::string number(float x);  // "NaN" without a sign, which says nothing

}  // namespace lab
