// Whole-number expressions: the rules in which a learner says which elements of an output are wrong (`row % 16 < 4 && !causal`), and the
// constraints of a levers.conf.
#pragma once
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace lab {

// C's expressions over names and whole numbers, with C's precedence: + - * / % & ^ | << >> < <= > >= == != && || ! ~ ?: ( ), and
// min(a, b), max(a, b). 64 bits that wrap; not 0 is true. `and`, `or`, `not` and `mod` are words for && || ! %. `row & 7 == 0` is
// refused: C reads row & (7 == 0).
class Expression {
 public:
  // Throws BadInput with the place of what it does not understand.
  Expression(const std::string& text, const std::vector<std::string>& names);
  // Of the names' values, in their order. Throws BadInput where it divides by zero, or shifts by what is no count of bits; what is
  // not taken, of ?:, && and ||, is not computed.
  long value(std::span<const long> values) const;

  using Value = std::function<long(std::span<const long>)>;

 private:
  std::string text_;
  Value of_;
};

long evaluate(const std::string& expression, const std::map<std::string, long>& names);

// A learner's rule: `marks` is asked of each element. Of a backward stage one of dq, dk and dv is 1, and says of which
// gradient.
struct Element {
  long b = 0, h = 0, row = 0, col = 0, S = 0, D = 0, causal = 0, dq = 0, dk = 0, dv = 0;
};
class Rule {
 public:
  explicit Rule(const std::string& text)
      : expression_(text, {"b", "h", "row", "col", "S", "D", "causal", "dq", "dk", "dv"}) {}
  bool marks(const Element& e) const {
    const long values[] = {e.b, e.h, e.row, e.col, e.S, e.D, e.causal, e.dq, e.dk, e.dv};
    return expression_.value(values) != 0;
  }

 private:
  Expression expression_;
};

}  // namespace lab
