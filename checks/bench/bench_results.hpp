// What a benchmark leaves behind: lines of samples, written by `lab bench` and reference/peers.py alike, one file a
// process; and the JSON that is made of all the files of a run (schema: writeups/results/README.md).
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "common/shape.hpp"

namespace lab {

// "1,8,512,64" or "1,8,512,64,causal": how a shape is asked for and how results name it.
std::string shape_word(const Shape& shape);

// What `shape=` takes: shapes as above with ';' between them, or a list's name: acceptance (the five of the notes and
// D = 128 causal), long (S = 8192), all. Throws BadInput.
std::vector<Shape> bench_shapes(std::string_view words);

// Where a sorted list's p-th part lies, between neighbours; p in [0, 1].
double percentile(const std::vector<double>& sorted, double p);

// The whole JSON, from the text of the files in the order of their names. Throws BadInput for a line that is none.
std::string bench_json(const std::vector<std::string>& files);

// The same as a table to read: graph time, its spread, and the ratios, a line a program and shape.
std::string bench_table(const std::vector<std::string>& files);

}  // namespace lab
