// A learner's rule, which says of each element of an output whether it is wrong: `row % 16 < 4 && !causal`. g++ compiles it.
#pragma once
#include <string>
#include <vector>

namespace lab {

// The names that a rule may hold. Of a backward stage one of dq, dk and dv is 1, and says of which gradient.
struct Element {
  long b = 0, h = 0, row = 0, col = 0, S = 0, D = 0, causal = 0, dq = 0, dk = 0, dv = 0;
};

// Lets through only names, whole numbers, parentheses and C's operators, each where it may stand: what is left computes a number
// and does nothing else. Throws BadInput with the place.
void check_rule(const std::string& text);

class Rule {
 public:
  // Throws BadInput, with what the compiler says of it: C reads `row & 7 == 0` as row & (7 == 0), and warns.
  explicit Rule(const std::string& text);
  ~Rule();
  Rule(const Rule&) = delete;
  // For each column of the element's row, '#' where it marks the element, else '.'. Throws BadInput where it divides by zero.
  std::string marks(Element e) const;

 private:
  std::string text_;
  void* library_ = nullptr;
  long (*of_)(const Element&) = nullptr;
};

// A map of a head's rows for a learner, lines: the elements ('#', else '.') that a rule marks beside those that are seen. Several columns
// and as many rows as are seen alike are a cell, equal rows one line, and the lines begin just before the first that differs.
std::vector<std::string> rule_map(const std::string& yours, const std::string& seen, int columns,
                                  const std::string& what);

}  // namespace lab
