// Shapes as words, and the middle of a list of times: what the benchmark, the exercises and the search share.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/shape.hpp"

namespace lab {

// "1,8,512,64" or "1,8,512,64,causal": how a shape is asked for and how results name it.
std::string shape_word(const Shape& shape);
std::optional<Shape> shape_of(const std::string& word);

// Values of `shape=`: shapes as above with ';' between them, or a list's name: acceptance (the five of the notes and
// D = 128 causal), long (S = 8192), all, sweep (160 of 8 to 128 heads, S 128 to 16,384). Throws BadInput.
std::vector<Shape> bench_shapes(std::string_view words);
// The same where it must be one.
Shape one_shape(std::string_view words);

// Floating-point operations of the forward pass, a masked product's half.
double flop(const Shape& shape);

// Where a sorted list's p-th part lies, between neighbours; p in [0, 1].
double percentile(const std::vector<double>& sorted, double p);
struct Spread {
  double median = 0, p10 = 0, p90 = 0;
};
Spread spread(std::vector<double> values);

}  // namespace lab
