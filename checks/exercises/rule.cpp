#include "checks/exercises/rule.hpp"

#include <dlfcn.h>
#include <setjmp.h>
#include <signal.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "reference/bad_input.hpp"

namespace lab {
namespace {

constexpr std::size_t LONGEST = 400;
constexpr std::string_view NAMES[] = {"b", "h", "row", "col", "S", "D", "causal", "dq", "dk", "dv"};
// Longer ones first: `<` begins `<=`.
constexpr std::string_view OPERATORS[] = {"<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "<", ">", "+",
                                          "-",  "*",  "/",  "%",  "&",  "^",  "|",  "?",  ":", "!", "~"};

[[noreturn]] void fail(const std::string& text, std::size_t at, const std::string& what) {
  throw BadInput("'" + text + "', at character " + std::to_string(at + 1) + ": " + what);
}

// The text stands alone on its line, so that a column is a character's place.
constexpr const char *BEFORE = R"(struct Element { long b, h, row, col, S, D, causal, dq, dk, dv; };
extern "C" long rule(const Element& element) {
  [[maybe_unused]] const auto& [b, h, row, col, S, D, causal, dq, dk, dv] = element;
  return bool(
#line 1 "rule"
)",
                     *AFTER = "\n);\n}\n";
// The rule is in a file, and no word of it in the command.
constexpr const char* COMPILE =
    " && LC_ALL=C ${HOST_CXX:-${CXX:-g++}} -std=c++20 -O1 -fwrapv -shared -fPIC -Wall -Wextra "
    "-Wno-int-in-bool-context rule.cpp -o rule.so 2> said";

// "rule:1:9: warning: suggest parentheses ..." means that C reads the rule otherwise than it looks. Only && within || is as it looks.
void refuse_what_is_said_of(const std::string& text, std::istream& said, bool compiled) {
  std::string line, any;
  while (std::getline(said, line)) {
    any += line + "\n";
    if (!line.starts_with("rule:1:") || line.find("'&&' within '||'") != line.npos) continue;
    const std::size_t kind = std::min(line.find(" warning: "), line.find(" error: "));
    if (kind == line.npos) continue;
    std::string what = line.substr(line.find(": ", kind) + 2);
    what.resize(std::min(what.find(" [-W"), what.size()));
    fail(text, std::strtoul(line.c_str() + 7, nullptr, 10) - 1, what);
  }
  if (!compiled) throw BadInput("'" + text + "' cannot be compiled: " + any);
}

sigjmp_buf outside;
void leave(int) { siglongjmp(outside, 1); }

}  // namespace

void check_rule(const std::string& text) {
  if (text.size() > LONGEST) throw BadInput("a rule has at most " + std::to_string(LONGEST) + " characters");
  int open = 0;
  bool value = false;  // what comes before is a whole value
  for (std::size_t at = 0, next = 0; at < text.size(); at = next) {
    next = at + 1;
    if (text[at] == ' ' || text[at] == '\t') continue;
    const auto in_word = [](unsigned char c) { return std::isalnum(c) || c == '_'; };
    while (in_word(text[at]) && next < text.size() && in_word(text[next])) ++next;
    std::string_view word = std::string_view(text).substr(at, next - at);
    const bool number = std::ranges::all_of(word, [](unsigned char c) { return std::isdigit(c) != 0; });
    if (!in_word(text[at])) {
      const auto op = std::ranges::find_if(
          OPERATORS, [&](std::string_view one) { return std::string_view(text).substr(at).starts_with(one); });
      if (op != std::end(OPERATORS)) word = *op, next = at + op->size();
    }
    if (number || std::ranges::count(NAMES, word) || word == "(") {
      if (value) fail(text, at, "an operator is missing before '" + std::string(word) + "'");
      value = word != "(", open += word == "(";
    } else if (word == ")") {
      if (!value || --open < 0) fail(text, at, "')' is not expected here");
    } else if (word == "=") {
      fail(text, at, "'=' compares nothing; write ==");
    } else if (word == "!" || word == "~" || word == "not") {
      if (value) fail(text, at, "an operator is missing before '" + std::string(word) + "'");
    } else if (std::ranges::count(OPERATORS, word) || word == "and" || word == "or") {
      if (!value && word != "-" && word != "+") fail(text, at, "'" + std::string(word) + "' has nothing on its left");
      value = false;
    } else {
      fail(text, at,
           "'" + std::string(word) + "' is no number, name or operator; the names are b h row col S D causal dq dk dv");
    }
  }
  if (!value) fail(text, text.size(), "something is missing");
  if (open > 0) fail(text, text.size(), "a ')' is missing");
}

Rule::Rule(const std::string& text) : text_(text) {
  check_rule(text);
  std::string folder = "/tmp/lab-rule-XXXXXX";
  if (!mkdtemp(folder.data())) throw BadInput("no file can be made in /tmp");
  const struct Folder {
    std::filesystem::path path;
    ~Folder() { std::filesystem::remove_all(path); }
  } made{folder};
  std::ofstream(folder + "/rule.cpp") << BEFORE << text << AFTER;
  std::string command = "cd ";
  command.append(folder).append(COMPILE);
  const bool compiled = std::system(command.c_str()) == 0;
  std::ifstream says(folder + "/said");
  refuse_what_is_said_of(text, says, compiled);
  library_ = dlopen((folder + "/rule.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library_) of_ = reinterpret_cast<long (*)(const Element&)>(dlsym(library_, "rule"));
  if (!of_) throw BadInput("'" + text + "' was compiled, and cannot be loaded");
}

Rule::~Rule() {
  if (library_) dlclose(library_);
}

std::string Rule::marks(Element e) const {
  std::string marks(std::size_t(e.D), '.');
  struct sigaction ours = {}, before = {};
  ours.sa_handler = leave, ours.sa_flags = SA_NODEFER;
  sigaction(SIGFPE, &ours, &before);
  const bool divides = sigsetjmp(outside, 0) != 0;
  if (!divides)
    for (e.col = 0; e.col < e.D; ++e.col)
      if (of_(e)) marks[std::size_t(e.col)] = '#';
  sigaction(SIGFPE, &before, nullptr);
  if (divides) throw BadInput("'" + text_ + "' divides by zero");
  return marks;
}

std::vector<std::string> rule_map(const std::string& yours, const std::string& seen, int columns,
                                  const std::string& what) {
  constexpr int CELLS = 16, MOST_LINES = 12, HIGHEST = 64;
  const int width = std::max(1, columns / CELLS), rows = int(yours.size()) / columns;
  const auto row_of = [&](const std::string& marks, int row) {
    return std::string_view(marks).substr(std::size_t(row) * columns, std::size_t(columns));
  };
  // As many rows a line as are alike in what is seen: a wrong rule then differs in few lines, and its period shows.
  int height = HIGHEST;
  const auto blocks_are_alike = [&] {
    for (int row = 0; row < rows; ++row)
      if (row_of(seen, row) != row_of(seen, row / height * height)) return false;
    return true;
  };
  while (!blocks_are_alike()) height /= 2;
  const auto cells = [&](const std::string& marks, int first, int end) {
    std::string line;
    for (int column = 0; column < columns / width * width; column += width) {
      int marked = 0;
      for (int row = first; row < end; ++row) {
        const std::string_view cell = row_of(marks, row).substr(std::size_t(column), std::size_t(width));
        marked += int(std::ranges::count(cell, '#'));
      }
      line += marked == width * (end - first) ? '#' : marked ? '+' : '.';
    }
    return line;
  };
  struct Line {
    int first, last;
    std::string text;
    bool same;
  };
  std::vector<Line> lines;
  for (int row = 0; row < rows; row += height) {
    const int end = std::min(rows, row + height);
    const std::size_t at = std::size_t(row) * columns, size = std::size_t(end - row) * columns;
    const bool same = yours.compare(at, size, seen, at, size) == 0;
    const std::string text = cells(yours, row, end) + "  " + cells(seen, row, end) + (same ? "" : "  differ");
    if (!lines.empty() && lines.back().text == text)
      lines.back().last = end - 1;
    else
      lines.push_back({row, end - 1, text, same});
  }
  const auto differs = std::ranges::find(lines, false, &Line::same);
  const auto padded = [](std::string text, std::size_t size) {
    return text.resize(std::max(text.size(), size), ' '), text;
  };
  std::vector<std::string> map = {"  " + padded("rows", 14) + padded("your rule", std::size_t(columns / width) + 2) +
                                  what};
  auto line = differs == lines.begin() ? differs : differs - 1;
  for (; line != lines.end() && map.size() <= MOST_LINES; ++line) {
    const std::string last = line->last == line->first ? "" : " to " + std::to_string(line->last);
    map.push_back("  " + padded(std::to_string(line->first) + last, 14) + line->text);
  }
  if (line != lines.end()) map.push_back("  and " + std::to_string(lines.end() - line) + " more lines");
  map.push_back("  a character is " + std::to_string(height) + (height > 1 ? " rows" : " row") + " x " +
                std::to_string(width) + " columns: # all, + some, . none");
  return map;
}

}  // namespace lab
