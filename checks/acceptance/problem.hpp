// An attention problem of either pass: what a kernel gets, what it must give, and how far from that it may be.
#pragma once
#include <span>
#include <vector>

#include "checks/acceptance/subject.hpp"
#include "reference/attention.hpp"
#include "reference/inputs.hpp"

namespace lab {

// The oracle's values, D a row, in the order of the rows asked for, and each value's bound.
struct Expected {
  std::vector<double> value, allowed;
  std::vector<double> also;  // where this is not finite, it is right as well; empty: nothing is
};
// Whether `got` is right for element `at`. NaN and infinities of the right answer must come out as they are.
bool is_right(const Expected& expected, std::size_t at, float got);

struct Problem {
  Shape shape;
  float scale = 0;
  Family family = Family::unit;
  Inputs in;
  bool notes = false;  // held to the notes' own tolerance
};

// One for each of the subject's outputs, with the bounds of tolerance.hpp and backward_bound.hpp. No rows: all of them;
// the backward pass has all of them always.
std::vector<Expected> oracle(const Subject& subject, const Problem& problem, std::span<const RowBlock> rows = {});

// The forward pass. `half_p`: the stage rounds weights to fp16.
Expected expected(const Shape& shape, double scale, const Inputs& inputs, std::span<const RowBlock> rows, bool half_p);
// All rows, with these values, at the bound of the largest norms of the whole tensors: no tighter, and the same for
// every element of the same size. For wrong answers too.
Expected loosely(std::vector<double> values, const Shape& shape, double scale, const Inputs& inputs, bool half_p);

}  // namespace lab
