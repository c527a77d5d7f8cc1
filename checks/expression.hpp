// Whole-number expressions: the constraints of a levers.conf.
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

}  // namespace lab
