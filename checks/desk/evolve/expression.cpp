#include "checks/desk/evolve/expression.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <vector>

#include "reference/bad_input.hpp"

namespace lab::desk {
namespace {

// From what binds least; of each level, longer ones first where one begins another.
const std::vector<std::vector<std::string_view>> LEVELS = {
    {"||"}, {"&&"}, {"==", "!="}, {"<=", ">=", "<", ">"}, {"+", "-"}, {"*", "/", "%"}};
constexpr int DEEPEST = 40;

// What is not taken (the other side of ?:, of && and ||) is read but not computed: it may divide by zero.
class Evaluation {
 public:
  Evaluation(const std::string& text, const Numbers& names) : text_(text), names_(names) {}

  long all() {
    const long value = choice(true);
    skip_blanks();
    if (at_ != text_.size()) fail("'" + text_.substr(at_) + "' is not expected");
    return value;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { throw BadInput("'" + text_ + "': " + what); }

  void skip_blanks() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool take(std::string_view op) {
    skip_blanks();
    if (text_.compare(at_, op.size(), op) != 0) return false;
    at_ += op.size();
    return true;
  }

  long choice(bool counts) {
    if (++depth_ > DEEPEST) fail("too deep");
    const long condition = level(0, counts);
    long value = condition;
    if (take("?")) {
      const long yes = choice(counts && condition);
      if (!take(":")) fail("a ':' is missing");
      const long no = choice(counts && !condition);
      value = condition ? yes : no;
    }
    --depth_;
    return value;
  }

  long level(std::size_t depth, bool counts) {
    if (depth == LEVELS.size()) return single(counts);
    long left = level(depth + 1, counts);
    for (;;) {
      const auto op = std::ranges::find_if(LEVELS[depth], [&](std::string_view o) { return take(o); });
      if (op == LEVELS[depth].end()) return left;
      const bool decided = (*op == "&&" && !left) || (*op == "||" && left);
      const long right = level(depth + 1, counts && !decided);
      left = counts ? combined(*op, left, right) : 0;
    }
  }

  long combined(std::string_view op, long a, long b) const {
    if (op == "||") return a || b;
    if (op == "&&") return a && b;
    if (op == "==") return a == b;
    if (op == "!=") return a != b;
    if (op == "<=") return a <= b;
    if (op == ">=") return a >= b;
    if (op == "<") return a < b;
    if (op == ">") return a > b;
    if (op == "+") return a + b;
    if (op == "-") return a - b;
    if (op == "*") return a * b;
    if (b == 0) fail("a division by zero");
    return op == "/" ? a / b : a % b;
  }

  long single(bool counts) {
    if (++depth_ > DEEPEST) fail("too deep");
    const long value = unnested(counts);
    --depth_;
    return value;
  }

  long unnested(bool counts) {
    if (take("!")) return !single(counts);
    if (take("-")) return -single(counts);
    if (take("(")) return inside(counts);
    skip_blanks();
    std::string word;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_'))
      word += text_[at_++];
    if (word.empty()) fail(at_ == text_.size() ? "something is missing" : "'" + text_.substr(at_) + "' is no number");
    if (std::isdigit(static_cast<unsigned char>(word[0]))) {
      if (word.size() > 12 || !std::ranges::all_of(word, [](unsigned char c) { return std::isdigit(c) != 0; }))
        fail("'" + word + "' is no whole number");
      return std::stol(word);
    }
    if ((word == "min" || word == "max") && take("(")) {
      const long a = choice(counts);
      if (!take(",")) fail("a ',' is missing");
      const long b = inside(counts);
      return word == "min" ? std::min(a, b) : std::max(a, b);
    }
    const auto found = names_.find(word);
    if (found == names_.end()) fail("nothing is called '" + word + "'");
    return found->second;
  }

  long inside(bool counts) {
    const long value = choice(counts);
    if (!take(")")) fail("a ')' is missing");
    return value;
  }

  const std::string& text_;
  const Numbers& names_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

long evaluate(const std::string& expression, const Numbers& names) { return Evaluation(expression, names).all(); }

}  // namespace lab::desk
