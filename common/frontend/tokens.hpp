// C++ text as tokens: enough of the language to find what g++ cannot read in a CUDA file.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace lab::frontend {

enum class Kind { word, number, string, punctuation, space };

struct Token {
  Kind kind;
  std::string text;  // of `space`, everything between two tokens: line breaks and preprocessor lines, too
  int line = 0;      // in `file`
  int file = 0;      // of `Source::files`
  bool is(std::string_view what) const { return kind != Kind::space && text == what; }
};

struct Source {
  std::vector<Token> tokens;
  std::vector<std::string> files;
};

// Output of `g++ -E`: macros are expanded, and lines such as `# 12 "foo.cu"` say where what follows stands.
Source tokens_of(std::string_view preprocessed);
// The value of adjacent string literals, escapes read.
std::string literal_value(std::string_view literal);

}  // namespace lab::frontend
