#include "common/frontend/tokens.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>

namespace lab::frontend {
namespace {

bool starts_word(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_' || c == '$'; }
bool in_word(char c) { return starts_word(c) || std::isdigit(static_cast<unsigned char>(c)); }

// Longest first. <<< and >>> are tokens of their own here; >> is not, as it may close two templates.
constexpr std::string_view LONG[] = {"<<<", ">>>", "...", "->*", "<=>", "<<=", "->", "::", "<<",
                                     "<=",  ">=",  "==",  "!=",  "&&",  "||",  "++", "--", "+=",
                                     "-=",  "*=",  "/=",  "%=",  "&=",  "|=",  "^=", "##"};

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}
  Source read() {
    while (skip_space(), at_ < text_.size()) token();
    emit(Kind::end, at_);
    return std::move(source_);
  }

 private:
  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  void emit(Kind kind, std::size_t from) {
    const std::string_view text = text_.substr(from, at_ - from);
    source_.tokens.push_back({kind, std::string(text), line_, file_, std::move(space_)});
    space_.clear();
    line_ += int(std::ranges::count(text, '\n'));
  }
  void skip_space() {
    while (at_ < text_.size()) {
      const std::size_t from = at_;
      if (peek() == '#' && (from == 0 || text_[from - 1] == '\n')) {
        directive();
      } else if (peek() == '/' && (peek(1) == '/' || peek(1) == '*')) {  // a file that is not preprocessed
        const bool line = peek(1) == '/';
        const std::size_t end = text_.find(line ? "\n" : "*/", at_ + 2);
        at_ = end == text_.npos ? text_.size() : end + (line ? 0 : 2);
      } else {
        while (std::isspace(static_cast<unsigned char>(peek()))) ++at_;
        if (at_ == from) return;
      }
      const std::string_view skipped = text_.substr(from, at_ - from);
      space_ += skipped, line_ += int(std::ranges::count(skipped, '\n'));
    }
  }
  void token() {
    const std::size_t from = at_;
    const char c = peek();
    std::size_t prefix = 0;  // of a string or a character
    while (prefix < 3 && in_word(peek(prefix))) ++prefix;
    if (const char quote = peek(prefix); (quote == '"' || quote == '\'') && is_prefix(text_.substr(at_, prefix)))
      return string(prefix, quote);
    if (starts_word(c)) {
      while (in_word(peek())) ++at_;
      return emit(Kind::word, from);
    }
    if (std::isdigit(static_cast<unsigned char>(c)) ||
        (c == '.' && std::isdigit(static_cast<unsigned char>(peek(1))))) {
      while (
          in_word(peek()) || peek() == '.' || (peek() == '\'' && in_word(peek(1))) ||
          ((peek() == '+' || peek() == '-') && std::string_view("eEpP").find(text_[at_ - 1]) != std::string_view::npos))
        ++at_;
      return emit(Kind::number, from);
    }
    at_ += 1;
    for (const std::string_view op : LONG)
      if (text_.substr(from, op.size()) == op) {
        at_ = from + op.size();
        break;
      }
    emit(Kind::punctuation, from);
  }
  static bool is_prefix(std::string_view word) {
    for (const std::string_view known : {"", "L", "u", "U", "u8", "R", "LR", "uR", "UR", "u8R"})
      if (word == known) return true;
    return false;
  }
  void string(std::size_t prefix, char quote) {
    const std::size_t from = at_;
    const bool raw = prefix && text_[at_ + prefix - 1] == 'R';
    at_ += prefix + 1;
    if (raw) {
      const std::size_t open = text_.find('(', at_);
      const std::string end = ")" + std::string(text_.substr(at_, open - at_)) + "\"";
      const std::size_t close = text_.find(end, open);
      at_ = close == text_.npos ? text_.size() : close + end.size();
    } else {
      while (at_ < text_.size() && peek() != quote && peek() != '\n') at_ += peek() == '\\' ? 2 : 1;
      at_ = std::min(at_ + 1, text_.size());
    }
    emit(quote == '"' ? Kind::string : Kind::number, from);
  }
  // `# 12 "foo.cu" 2` or a #pragma: stays in the text as it is.
  void directive() {
    const std::size_t from = at_;
    while (at_ < text_.size() && peek() != '\n') ++at_;
    const std::string words(text_.substr(from, at_ - from));
    source_.directives.push_back({Kind::directive, words, line_, file_, ""});
    char* rest = nullptr;
    const long line = std::strtol(words.c_str() + 1, &rest, 10);
    const auto open = words.find('"'), close = words.rfind('"');
    if (rest == words.c_str() + 1 || open == words.npos || open == close) return;
    const std::string file = words.substr(open + 1, close - open - 1);
    auto found = std::ranges::find(source_.files, file);
    if (found == source_.files.end()) found = source_.files.insert(found, file);
    file_ = int(found - source_.files.begin());
    line_ = int(line) - 1;  // of this line: the next has the number
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int line_ = 1, file_ = 0;
  std::string space_;
  Source source_;
};

// kernel << <grid, block>> >(...): as some editors lay it out, and nvcc takes it.
void join_chevrons(std::vector<Token>& tokens) {
  const auto is = [&](std::size_t i, std::string_view what) { return i < tokens.size() && tokens[i].is(what); };
  const auto join = [&](std::size_t at, std::size_t count, const char* chevron) {
    tokens[at].text = chevron;
    for (std::size_t i = at + 1; i < at + count; ++i) tokens[at + count].space.insert(0, tokens[i].space);
    tokens.erase(tokens.begin() + std::ptrdiff_t(at + 1), tokens.begin() + std::ptrdiff_t(at + count));
  };
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (is(i, "<<") && is(i + 1, "<")) join(i, 2, "<<<");
    if (is(i, "<") && is(i + 1, "<") && is(i + 2, "<")) join(i, 3, "<<<");
    if (!is(i, "<<<")) continue;
    int depth = 0;
    for (std::size_t end = i + 1; end < tokens.size() && !tokens[end].is({">>>", ";"}); ++end) {
      depth += tokens[end].is({"(", "[", "{"});
      depth -= tokens[end].is({")", "]", "}"});
      if (depth > 0 || !is(end, ">") || !is(end + 1, ">") || !is(end + 2, ">")) continue;
      join(end, 3, ">>>");
      break;
    }
  }
}

}  // namespace

Source tokens_of(std::string_view preprocessed) {
  Source source = Reader(preprocessed).read();
  join_chevrons(source.tokens);
  return source;
}

std::string literal_value(std::string_view literal) {
  const auto open = literal.find('"');
  if (open > 0 && literal[open - 1] == 'R') {
    const auto begin = literal.find('('), end = literal.rfind(')');
    return std::string(literal.substr(begin + 1, end - begin - 1));
  }
  std::string value;
  for (std::size_t i = open + 1; i + 1 < literal.size(); ++i) {
    if (literal[i] != '\\') {
      value += literal[i];
      continue;
    }
    const char c = literal[++i];
    value += c == 'n' ? '\n' : c == 't' ? '\t' : c;
  }
  return value;
}

}  // namespace lab::frontend
