// A small, strict JSON reader, for tests of the files that the lab writes: no library is worth it.
#pragma once
#include <charconv>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace lab::json {

struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Value {
  enum class Type { null, boolean, number, string, array, object } type = Type::null;
  bool truth = false;
  double number = 0;
  std::string string;
  std::vector<Value> items;
  std::map<std::string, Value> members;

  bool is(Type t) const { return type == t; }
  bool has(const std::string& key) const { return members.contains(key); }
  const Value& operator[](const std::string& key) const& {
    if (!has(key)) throw Error("no member '" + key + "'");
    return members.at(key);
  }
  const Value& operator[](const std::string& key) const&& = delete;  // the member would go with the document
};

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}
  Value document() {
    Value value = any(0);
    space();
    if (at_ != text_.size()) fail("something after the end");
    return value;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { throw Error(what + " at byte " + std::to_string(at_)); }
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void space() {
    while (at_ < text_.size() && std::string_view(" \t\n\r").find(text_[at_]) != std::string_view::npos) ++at_;
  }
  void expect(char c) {
    if (peek() != c) fail(std::string("expected '") + c + "'");
    ++at_;
  }
  bool word(std::string_view w) {
    if (text_.substr(at_, w.size()) != w) return false;
    at_ += w.size();
    return true;
  }

  Value any(int depth) {
    if (depth > 64) fail("nested too deeply");
    space();
    Value value;
    switch (peek()) {
      case '{': {
        value.type = Value::Type::object;
        ++at_, space();
        if (peek() == '}') return ++at_, value;
        for (;;) {
          space();
          std::string key = quoted();
          space(), expect(':');
          if (!value.members.emplace(key, any(depth + 1)).second) fail("'" + key + "' twice");
          space();
          if (peek() == '}') return ++at_, value;
          expect(',');
        }
      }
      case '[': {
        value.type = Value::Type::array;
        ++at_, space();
        if (peek() == ']') return ++at_, value;
        for (;;) {
          value.items.push_back(any(depth + 1));
          space();
          if (peek() == ']') return ++at_, value;
          expect(',');
        }
      }
      case '"':
        value.type = Value::Type::string;
        value.string = quoted();
        return value;
      default:
        if (word("null")) return value;
        value.type = Value::Type::boolean;
        if (word("true")) return value.truth = true, value;
        if (word("false")) return value;
        value.type = Value::Type::number;
        value.number = number();
        return value;
    }
  }

  std::string quoted() {
    expect('"');
    std::string out;
    for (;; ++at_) {
      if (at_ >= text_.size()) fail("a string without end");
      char c = text_[at_];
      if (c == '"') return ++at_, out;
      if ((unsigned char)c < 32) fail("a control character in a string");
      if (c == '\\') {
        c = ++at_ < text_.size() ? text_[at_] : '\0';
        constexpr std::string_view FROM = "\"\\/bfnrt", TO = "\"\\/\b\f\n\r\t";
        const std::size_t i = FROM.find(c);
        if (i == FROM.npos) fail("an escape that the lab does not write");  // \u among them
        c = TO[i];
      }
      out += c;
    }
  }

  double number() {
    const std::size_t begin = at_;
    const auto digits = [&] {
      const std::size_t from = at_;
      while (peek() >= '0' && peek() <= '9') ++at_;
      if (at_ == from) fail("not a value");
    };
    if (peek() == '-') ++at_;
    const bool zero = peek() == '0';
    digits();
    if (zero && text_[at_ - 1] != '0') fail("a number that starts with 0");
    if (peek() == '.') ++at_, digits();
    if (peek() == 'e' || peek() == 'E') {
      ++at_;
      if (peek() == '+' || peek() == '-') ++at_;
      digits();
    }
    double value = 0;
    if (std::from_chars(text_.data() + begin, text_.data() + at_, value).ec != std::errc())
      fail("a number out of range");
    return value;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

inline Value parse(std::string_view text) { return Reader(text).document(); }

}  // namespace lab::json
