// The rules in which a learner says which elements of an output are wrong: `row % 16 < 4 && !causal`.
#pragma once
#include <memory>
#include <string>

namespace lab {

// The variables of a rule. `causal` is 0 or 1.
struct Element {
  long b = 0, h = 0, row = 0, col = 0, S = 0, D = 0, causal = 0;
};

// C's expressions over the names above and whole numbers, with C's precedence: + - * / % & ^ | << >> < <= > >= == != &&
// || ! ~ ( ). Whole numbers of 64 bits; not 0 is true. `and`, `or`, `not` and `mod` are words for && || ! %.
// `row & 7 == 0` is refused: C reads row & (7 == 0).
class Rule {
 public:
  // Throws BadInput with the place of what it does not understand.
  explicit Rule(const std::string& text);
  // Throws BadInput where it divides by zero, or shifts by what is no count of bits.
  bool marks(const Element& element) const;

  struct Node;

 private:
  std::string text_;
  std::shared_ptr<const Node> root_;
};

}  // namespace lab
