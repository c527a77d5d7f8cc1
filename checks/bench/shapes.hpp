// Shapes as words: what the benchmark, the exercises and the search share.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "common/shape.hpp"

namespace lab {

// "1,8,512,64" or "1,8,512,64,causal": how a shape is asked for and how results name it.
std::string shape_word(const Shape& shape);

// Values of `shape=`: shapes as above with ';' between them, or a list's name: acceptance (the five of the notes and
// D = 128 causal), long (S = 8192), all, sweep (160 of 8 to 128 heads, S 128 to 16,384). Throws BadInput.
std::vector<Shape> bench_shapes(std::string_view words);
// The same where it must be one.
Shape one_shape(std::string_view words);

// Floating-point operations of the forward pass, a masked product's half.
double flop(const Shape& shape);

double median(std::vector<double> values);  // of one at least

}  // namespace lab
