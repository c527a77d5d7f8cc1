#include "checks/expression.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <stdexcept>
#include <string_view>

#include "reference/bad_input.hpp"

namespace lab {
namespace {

using Wrapping = unsigned long;  // an expression is a user's, and no undefined behaviour may come of it
using Binary = long (*)(long, long);

// An expression that has no value.
struct Undefined : std::domain_error {
  using std::domain_error::domain_error;
};

int bits(long count) {
  if (count < 0 || count > 62) throw Undefined("shifts by " + std::to_string(count) + " bits");
  return int(count);
}
long quotient(long a, long b) {
  if (b == 0) throw Undefined("divides by zero");
  return b == -1 ? long(0 - Wrapping(a)) : a / b;
}

struct Operator {
  std::string_view text;
  int level;  // C's, from what binds least
  Binary of;  // nullptr of && and ||, which may not need their second half
};
constexpr int OR = 0, AND = 1, EQUALITY = 5, ORDER = 6, LEVELS = 10;
// Longer ones first: `<` begins `<=`.
constexpr Operator OPERATORS[] = {
    {"<<", 7, [](long a, long b) { return long(Wrapping(a) << bits(b)); }},
    {">>", 7, [](long a, long b) { return a >> bits(b); }},
    {"<=", ORDER, [](long a, long b) { return long(a <= b); }},
    {">=", ORDER, [](long a, long b) { return long(a >= b); }},
    {"==", EQUALITY, [](long a, long b) { return long(a == b); }},
    {"!=", EQUALITY, [](long a, long b) { return long(a != b); }},
    {"&&", AND, nullptr},
    {"||", OR, nullptr},
    {"<", ORDER, [](long a, long b) { return long(a < b); }},
    {">", ORDER, [](long a, long b) { return long(a > b); }},
    {"+", 8, [](long a, long b) { return long(Wrapping(a) + Wrapping(b)); }},
    {"-", 8, [](long a, long b) { return long(Wrapping(a) - Wrapping(b)); }},
    {"*", 9, [](long a, long b) { return long(Wrapping(a) * Wrapping(b)); }},
    {"/", 9, quotient},
    {"%", 9, [](long a, long b) { return long(Wrapping(a) - Wrapping(quotient(a, b)) * Wrapping(b)); }},
    {"&", 4, [](long a, long b) { return a & b; }},
    {"^", 3, [](long a, long b) { return a ^ b; }},
    {"|", 2, [](long a, long b) { return a | b; }},
};
constexpr std::pair<std::string_view, std::string_view> WORDS[] = {
    {"and", "&&"}, {"or", "||"}, {"not", "!"}, {"mod", "%"}};
constexpr int DEEPEST = 60;  // of parentheses and signs

using Value = Expression::Value;
struct Parsed {
  Value of;
  bool compares = false;  // a comparison that no parentheses hold together
};

class Parser {
 public:
  Parser(const std::string& text, const std::vector<std::string>& names) : text_(text), names_(names) { next(); }

  Value parse() {
    const Parsed all = choice();
    if (!token_.empty()) fail("'" + token_ + "' is not expected here");
    return all.of;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw BadInput("'" + text_ + "', at character " + std::to_string(begin_ + 1) + ": " + what);
  }

  void next() {
    const auto is = [&](auto kind) { return at_ < text_.size() && kind(static_cast<unsigned char>(text_[at_])); };
    const auto in_word = [](int c) { return std::isalnum(c) || c == '_'; };
    while (is([](int c) { return std::isspace(c); })) ++at_;
    begin_ = at_;
    token_.clear();
    while (is(in_word)) token_ += text_[at_++];
    for (const auto& [word, stands_for] : WORDS)
      if (token_ == word) token_ = stands_for;
    if (!token_.empty() || at_ == text_.size()) return;
    for (const Operator& op : OPERATORS)
      if (text_.compare(at_, op.text.size(), op.text) == 0) {
        token_ = op.text;
        at_ += op.text.size();
        return;
      }
    token_ = text_[at_++];
    if (token_ == "=") fail("'=' compares nothing; write ==");
    if (std::string_view("!~()?:,").find(token_) == std::string_view::npos) fail("'" + token_ + "' means nothing here");
  }
  bool take(std::string_view token) {
    if (token_ != token) return false;
    next();
    return true;
  }
  void need(std::string_view token) {
    if (!take(token)) fail("a '" + std::string(token) + "' is missing");
  }

  Parsed choice() {
    const Parsed condition = level(0);
    if (!take("?")) return condition;
    const Value yes = deeper(&Parser::choice).of;
    need(":");
    const Value no = deeper(&Parser::choice).of;
    return {[when = condition.of, yes, no](auto values) { return (when(values) ? yes : no)(values); }};
  }
  Parsed deeper(Parsed (Parser::*what)()) {
    if (++depth_ > DEEPEST) fail("too deep");
    Parsed result = (this->*what)();
    --depth_;
    return result;
  }

  Parsed level(int now) {
    if (now == LEVELS) return deeper(&Parser::operand);
    Parsed left = level(now + 1);
    for (;;) {
      const auto op = std::ranges::find(OPERATORS, token_, &Operator::text);
      if (op == std::end(OPERATORS) || op->level != now) return left;
      next();
      const Parsed right = level(now + 1);
      // `row & 7 == 0` is row & (7 == 0) in C. Two comparisons may be meant.
      if ((op->text == "&" || op->text == "^" || op->text == "|") && left.compares != right.compares) {
        const std::string said(op->text);
        fail("'" + said + "' is weaker than a comparison, as in C; write parentheses, as in (row " + said + " 7) == 0");
      }
      left = {joined(*op, left.of, right.of), now == EQUALITY || now == ORDER};
    }
  }
  static Value joined(const Operator& op, const Value& a, const Value& b) {
    if (op.level == AND) return [a, b](auto values) { return long(a(values) && b(values)); };
    if (op.level == OR) return [a, b](auto values) { return long(a(values) || b(values)); };
    return [of = op.of, a, b](auto values) {
      const long first = a(values);
      return of(first, b(values));
    };
  }

  Parsed operand() {
    if (token_.empty()) fail("something is missing");
    if (take("!")) return {[a = deeper(&Parser::operand).of](auto values) { return long(!a(values)); }};
    if (take("~")) return {[a = deeper(&Parser::operand).of](auto values) { return ~a(values); }};
    if (take("-")) return {[a = deeper(&Parser::operand).of](auto values) { return long(0 - Wrapping(a(values))); }};
    if (take("(")) {
      const Value inner = choice().of;
      need(")");
      return {inner};
    }
    if (const auto found = std::ranges::find(names_, token_); found != names_.end()) {
      next();
      return {[place = std::size_t(found - names_.begin())](auto values) { return values[place]; }};
    }
    if (take("min")) return {of_two([](long a, long b) { return std::min(a, b); })};
    if (take("max")) return {of_two([](long a, long b) { return std::max(a, b); })};
    long number = 0;
    const char* last = token_.data() + token_.size();
    const auto [end, error] = std::from_chars(token_.data(), last, number);
    if (error != std::errc() || end != last || number > 1'000'000'000'000) {
      std::string known;
      for (const std::string& name : names_) known += " " + name;
      fail("'" + token_ + "' is no number and no name; the names are" + known);
    }
    next();
    return {[number](auto) { return number; }};
  }

  Value of_two(Binary of) {
    need("(");
    const Value a = choice().of;
    need(",");
    const Value b = choice().of;
    need(")");
    return joined({"", LEVELS, of}, a, b);
  }

  const std::string& text_;
  const std::vector<std::string>& names_;
  std::size_t at_ = 0, begin_ = 0;
  int depth_ = 0;
  std::string token_;
};

}  // namespace

Expression::Expression(const std::string& text, const std::vector<std::string>& names)
    : text_(text), of_(Parser(text_, names).parse()) {}

long Expression::value(std::span<const long> values) const {
  try {
    return of_(values);
  } catch (const Undefined& what) {
    throw BadInput("'" + text_ + "' " + what.what());
  }
}

long evaluate(const std::string& expression, const std::map<std::string, long>& names) {
  std::vector<std::string> words;
  std::vector<long> values;
  for (const auto& [name, value] : names) words.push_back(name), values.push_back(value);
  return Expression(expression, words).value(values);
}

}  // namespace lab
