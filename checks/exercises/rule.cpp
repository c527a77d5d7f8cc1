#include "checks/exercises/rule.hpp"

#include <array>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <string_view>

#include "reference/bad_input.hpp"

namespace lab {

struct Rule::Node {
  std::string op;  // an operator, "" for a number, "name" for one of Element's
  long value = 0;
  long Element::*name = nullptr;
  std::shared_ptr<const Node> left = {}, right = {};
  bool closed = false;  // stands in parentheses
};

namespace {

using Node = Rule::Node;
using Tree = std::shared_ptr<const Node>;

struct Name {
  std::string_view text;
  long Element::*member;
};
constexpr Name NAMES[] = {{"b", &Element::b}, {"h", &Element::h}, {"row", &Element::row},      {"col", &Element::col},
                          {"S", &Element::S}, {"D", &Element::D}, {"causal", &Element::causal}};
struct Word {
  std::string_view text, stands_for;
};
constexpr Word WORDS[] = {{"and", "&&"}, {"or", "||"}, {"not", "!"}, {"mod", "%"}};
// Longer ones first: `<` begins `<=`.
constexpr std::string_view OPERATORS[] = {"<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "+", "-",
                                          "*",  "/",  "%",  "&",  "^",  "|",  "<",  ">",  "!", "~"};
// C's, from what binds least.
constexpr std::array<std::string_view, 10> LEVELS = {"||",    "&&",         "|",     "^",   "&",
                                                     "== !=", "< <= > >= ", "<< >>", "+ -", "* / %"};
constexpr int DEEPEST = 60;  // of parentheses and signs

bool is_of(std::string_view level, std::string_view op) {
  for (std::size_t at = 0; at < level.size();) {
    const std::size_t end = std::min(level.find(' ', at), level.size());
    if (level.substr(at, end - at) == op) return true;
    at = end + 1;
  }
  return false;
}

// A comparison that no parentheses hold together.
bool compares(const Node& node) { return !node.closed && (is_of(LEVELS[5], node.op) || is_of(LEVELS[6], node.op)); }

class Parser {
 public:
  explicit Parser(const std::string& text) : text_(text) { next(); }

  Tree parse() {
    Tree all = level(0);
    if (!token_.empty()) fail("'" + token_ + "' is not expected here");
    return all;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw BadInput("the rule '" + text_ + "', at character " + std::to_string(begin_ + 1) + ": " + what);
  }

  void next() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
    begin_ = at_;
    token_.clear();
    if (at_ == text_.size()) return;
    const auto is_word = [&](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
    if (is_word(text_[at_])) {
      while (at_ < text_.size() && is_word(text_[at_])) token_ += text_[at_++];
      for (const Word& word : WORDS)
        if (token_ == word.text) token_ = word.stands_for;
      return;
    }
    for (const std::string_view op : OPERATORS)
      if (text_.compare(at_, op.size(), op) == 0) {
        token_ = op;
        at_ += op.size();
        return;
      }
    token_ = text_[at_++];
    if (token_ == "=") fail("'=' compares nothing; write ==");
    if (token_ != "(" && token_ != ")") fail("'" + token_ + "' means nothing in a rule");
  }

  Tree level(std::size_t depth) {
    if (depth == LEVELS.size()) return single();
    Tree left = level(depth + 1);
    while (!token_.empty() && is_of(LEVELS[depth], token_)) {
      const std::string op = token_;
      next();
      const Tree right = level(depth + 1);
      // `row & 7 == 0` is row & (7 == 0) in C. Two comparisons may be meant.
      if ((op == "&" || op == "^" || op == "|") && compares(*left) != compares(*right))
        fail("'" + op + "' is weaker than a comparison, as in C; write parentheses, as in (row " + op + " 7) == 0");
      left = std::make_shared<Node>(Node{op, 0, nullptr, left, right});
    }
    return left;
  }

  Tree single() {
    if (++nested_ > DEEPEST) fail("too deep");
    Tree result = unary();
    --nested_;
    return result;
  }

  Tree unary() {
    if (token_.empty()) fail("something is missing");
    if (token_ == "!" || token_ == "-" || token_ == "~") {
      const std::string op = token_ + "x";
      next();
      return std::make_shared<Node>(Node{op, 0, nullptr, single()});
    }
    if (token_ == "(") {
      next();
      Node inner = *level(0);
      if (token_ != ")") fail("a ')' is missing");
      next();
      inner.closed = true;
      return std::make_shared<Node>(std::move(inner));
    }
    for (const Name& name : NAMES)
      if (token_ == name.text) {
        next();
        return std::make_shared<Node>(Node{"name", 0, name.member});
      }
    Node number;
    const char* last = token_.data() + token_.size();
    const auto [end, error] = std::from_chars(token_.data(), last, number.value);
    if (error != std::errc() || end != last || number.value > INT32_MAX)
      fail("'" + token_ + "' is no number and no name; the names are b h row col S D causal");
    next();
    return std::make_shared<Node>(number);
  }

  const std::string& text_;
  std::size_t at_ = 0, begin_ = 0;
  int nested_ = 0;
  std::string token_;
};

// In wrapping arithmetic: a rule is a learner's, and no undefined behaviour may come of it.
long value_of(const Node& node, const Element& e, const std::string& text) {
  if (node.name) return e.*node.name;
  if (node.op.empty()) return node.value;
  const long a = value_of(*node.left, e, text);
  if (node.op == "!x") return !a;
  if (node.op == "~x") return ~a;
  if (node.op == "-x") return long(0ul - static_cast<unsigned long>(a));
  if (node.op == "&&") return a && value_of(*node.right, e, text);
  if (node.op == "||") return a || value_of(*node.right, e, text);
  const long b = value_of(*node.right, e, text);
  const auto ua = static_cast<unsigned long>(a), ub = static_cast<unsigned long>(b);
  if (node.op == "+") return long(ua + ub);
  if (node.op == "-") return long(ua - ub);
  if (node.op == "*") return long(ua * ub);
  if (node.op == "/" || node.op == "%") {
    if (b == 0) throw BadInput("the rule '" + text + "' divides by zero");
    if (b == -1) return node.op == "/" ? long(0ul - ua) : 0;
    return node.op == "/" ? a / b : a % b;
  }
  if (node.op == "&") return a & b;
  if (node.op == "|") return a | b;
  if (node.op == "^") return a ^ b;
  if (node.op == "<") return a < b;
  if (node.op == "<=") return a <= b;
  if (node.op == ">") return a > b;
  if (node.op == ">=") return a >= b;
  if (node.op == "==") return a == b;
  if (node.op == "!=") return a != b;
  if (b < 0 || b > 62) throw BadInput("the rule '" + text + "' shifts by " + std::to_string(b) + " bits");
  return node.op == "<<" ? long(ua << b) : a >> b;
}

}  // namespace

Rule::Rule(const std::string& text) : text_(text), root_(Parser(text_).parse()) {}

bool Rule::marks(const Element& element) const { return value_of(*root_, element, text_) != 0; }

}  // namespace lab
