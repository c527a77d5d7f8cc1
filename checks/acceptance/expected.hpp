// The oracle's values of some query rows, and how far from them a correct kernel may be.
#pragma once
#include <span>
#include <vector>

#include "reference/attention.hpp"
#include "reference/inputs.hpp"

namespace lab {

// D values a row, in the order of the rows asked for.
struct Expected {
  std::vector<double> value, allowed;
};

// `allowed` is the bound of tolerance.hpp; `half_p`: the stage rounds weights to fp16. No rows: all of them.
Expected expected(const Shape& shape, double scale, const Inputs& inputs, std::span<const RowBlock> rows, bool half_p);
// All rows, with these values, at the bound of the largest norms of the whole tensors: no tighter, and the same for
// every element of the same size. For wrong answers too.
Expected loosely(std::vector<double> values, const Shape& shape, double scale, const Inputs& inputs, bool half_p);

}  // namespace lab
