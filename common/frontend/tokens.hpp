// C++ text as tokens: enough of the language to find what g++ cannot read in a CUDA file.
#pragma once
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace lab::frontend {

enum class Kind { word, number, string, punctuation, directive, end };

struct Token {
  Kind kind{};
  std::string text;
  int line = 0, file = 0;  // in which of `Source::files` it stands
  std::string space;       // before it: blanks, comments, preprocessor lines
  bool is(std::string_view what) const { return text == what; }
  bool is(std::initializer_list<std::string_view> any) const {
    for (const std::string_view what : any)
      if (text == what) return true;
    return false;
  }
};

struct Source {
  std::vector<Token> tokens;      // the last is the end
  std::vector<Token> directives;  // preprocessor lines, once more
  std::vector<std::string> files;
};

// Output of `g++ -E`: macros are expanded, and lines such as `# 12 "foo.cu"` say where what follows stands.
Source tokens_of(std::string_view preprocessed);
// The value of adjacent string literals, escapes read.
std::string literal_value(std::string_view literal);

}  // namespace lab::frontend
