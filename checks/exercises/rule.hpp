// A learner's rule, which says of each element of an output whether it is wrong: `row % 16 < 4 && !causal`. g++ compiles it.
#pragma once
#include <string>
#include <vector>

#include "common/shape.hpp"

namespace lab {

// Lets through only names, whole numbers and the characters of C's operators: what compiles of that computes a number and does
// nothing else. The names are b h row col S D causal dq dk dv; of a backward stage one of dq, dk and dv is 1, and says of which
// gradient. Throws BadInput with the place.
void check_rule(const std::string& text);

// For each element of each output, [outputs, B, H, S, D], '#' where the rule marks it, else '.'. Throws BadInput with what the
// compiler says of it (C reads `row & 7 == 0` as row & (7 == 0), and warns), and where it divides by zero.
std::string rule_marks(const std::string& text, const Shape& shape, std::size_t outputs);

// A map of a head's rows for a learner, lines: the elements ('#', else '.') that a rule marks beside those that are seen. Several columns
// are a cell, equal rows one line, and the lines begin just before the first that differs.
std::vector<std::string> rule_map(const std::string& yours, const std::string& seen, int columns,
                                  const std::string& what);

}  // namespace lab
