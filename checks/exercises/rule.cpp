#include "checks/exercises/rule.hpp"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "checks/acceptance/format.hpp"
#include "reference/bad_input.hpp"

namespace lab {
namespace {

constexpr std::size_t LONGEST = 400;
constexpr std::string_view RULE_WORDS[] = {"b",  "h",  "row", "col", "S",  "D",  "causal",
                                           "dq", "dk", "dv",  "and", "or", "not"};
constexpr std::string_view OPERATORS = " \t()+-*/%<>=!&|^~?:";

[[noreturn]] void fail(const std::string& text, std::size_t at, const std::string& what) {
  throw BadInput("'" + text + "', at character " + std::to_string(at + 1) + ": " + what);
}

// A program that is given the number of outputs and a shape. The rule begins no line: it is no directive.
constexpr const char* BEFORE = R"(extern "C" int putchar(int); extern "C" long atol(const char*);
int main(int, char** word) {
  const long outputs = atol(word[1]), B = atol(word[2]), H = atol(word[3]), S = atol(word[4]), D = atol(word[5]), causal = atol(word[6]);
  for (long output = 0; output < outputs; ++output)
    for (long i = 0; i < B * H * S * D; ++i) {
      const long b = i / D / S / H, h = i / D / S % H, row = i / D % S, col = i % D;
      const long dq = outputs > 1 && output == 0, dk = output == 1, dv = output == 2;
#line 1 "rule"
)";
constexpr std::string_view BEGIN = "const bool mark = ", AFTER = ";\nputchar(mark ? '#' : '.'); } }\n";
// The rule is in a file, and no word of it in the command.
constexpr const char* COMPILE =
    "LC_ALL=C ${HOST_CXX:-${CXX:-g++}} -std=c++20 -O1 -fwrapv -Wall -Wextra -Wno-unused -Wno-int-in-bool-context "
    "rule.cpp "
    "-o rule 2> said";

// "rule:1:27: warning: suggest parentheses ..." means that C reads the rule otherwise than it looks. Only && within || is as it looks.
void refuse_what_is_said_of(const std::string& text, std::istream& said, bool compiled) {
  std::string line, any;
  while (std::getline(said, line)) {
    any += line + "\n";
    const std::size_t kind = std::min(line.find(" warning: "), line.find(" error: "));
    if (!line.starts_with("rule:") || kind == line.npos || line.find("'&&' within '||'") != line.npos) continue;
    std::string what = line.substr(line.find(": ", kind) + 2);
    what.resize(std::min(what.find(" [-W"), what.size()));
    const std::size_t column = line.starts_with("rule:1:") ? std::strtoul(line.c_str() + 7, nullptr, 10) - 1 : 0;
    fail(text, column < BEGIN.size() ? text.size() : column - BEGIN.size(), what);
  }
  if (!compiled) throw BadInput("'" + text + "' cannot be compiled: " + any);
}

}  // namespace

void check_rule(const std::string& text) {
  if (text.size() > LONGEST) throw BadInput("a rule has at most " + std::to_string(LONGEST) + " characters");
  const auto in_word = [](unsigned char c) { return std::isalnum(c) || c == '_'; };
  for (std::size_t at = 0, next = 0; at < text.size(); at = next) {
    next = at + 1;
    if (OPERATORS.find(text[at]) != OPERATORS.npos) continue;
    while (in_word(text[at]) && next < text.size() && in_word(text[next])) ++next;
    const std::string word = text.substr(at, next - at);
    if (std::ranges::all_of(word, [](unsigned char c) { return std::isdigit(c) != 0; })) continue;
    if (!std::ranges::count(RULE_WORDS, word))
      fail(text, at, "'" + word + "' is no number, name or operator; the names are b h row col S D causal dq dk dv");
  }
}

std::string rule_marks(const std::string& text, const Shape& shape, std::size_t outputs) {
  check_rule(text);
  std::string folder = "/tmp/lab-rule-XXXXXX";
  if (!mkdtemp(folder.data())) throw BadInput("no file can be made in /tmp");
  const struct Folder {
    std::filesystem::path path;
    ~Folder() { std::filesystem::remove_all(path); }
  } made{folder};
  std::ofstream(folder + "/rule.cpp") << BEFORE << BEGIN << text << AFTER;
  const bool compiled = std::system(("cd " + folder + " && " + COMPILE).c_str()) == 0;
  std::ifstream says(folder + "/said");
  refuse_what_is_said_of(text, says, compiled);
  std::string words;
  for (const std::size_t word : {outputs, std::size_t(shape.B), std::size_t(shape.H), std::size_t(shape.S),
                                 std::size_t(shape.D), std::size_t(shape.causal)})
    words += " " + std::to_string(word);
  std::string marks(outputs * shape.elements(), '.');
  std::FILE* const program = popen((folder + "/rule" + words + " 2> /dev/null").c_str(), "r");
  const bool all = program && std::fread(marks.data(), 1, marks.size(), program) == marks.size();
  if (!program || pclose(program) != 0 || !all) throw BadInput("'" + text + "' divides by zero");
  return marks;
}

std::vector<std::string> rule_map(const std::string& yours, const std::string& seen, int columns,
                                  const std::string& what) {
  constexpr int CELLS = 16, MOST_LINES = 12;
  const int width = std::max(1, columns / CELLS);
  const auto cells = [&](const std::string& marks, std::size_t row) {
    std::string line;
    for (int column = 0; column < columns / width * width; column += width) {
      const auto cell = std::string_view(marks).substr(row * columns + column, std::size_t(width));
      const auto marked = std::ranges::count(cell, '#');
      line += marked == width ? '#' : marked ? '+' : '.';
    }
    return line;
  };
  struct Line {
    std::size_t first, last;
    std::string text;
  };
  std::vector<Line> lines;
  std::size_t first_that_differs = std::string::npos;
  for (std::size_t row = 0; row < yours.size() / columns; ++row) {
    const bool same =
        yours.compare(row * columns, std::size_t(columns), seen, row * columns, std::size_t(columns)) == 0;
    const std::string text = cells(yours, row) + "  " + cells(seen, row) + (same ? "" : "  differ");
    if (!lines.empty() && lines.back().text == text)
      lines.back().last = row;
    else
      lines.push_back({row, row, text});
    if (!same) first_that_differs = std::min(first_that_differs, lines.size() - 1);
  }
  std::vector<std::string> map = {format("  %-14s%-*s%s", "rows", columns / width + 2, "your rule", what.c_str())};
  std::size_t line = first_that_differs - (first_that_differs > 0);
  for (; line < lines.size() && map.size() <= MOST_LINES; ++line) {
    const auto& [first, last, text] = lines[line];
    const std::string rows = last == first ? std::to_string(first) : format("%zu to %zu", first, last);
    map.push_back(format("  %-14s%s", rows.c_str(), text.c_str()));
  }
  if (line < lines.size()) map.push_back("  and " + std::to_string(lines.size() - line) + " more lines");
  map.push_back("  a character is " + std::to_string(width) + " columns: # all, + some, . none");
  return map;
}

}  // namespace lab
