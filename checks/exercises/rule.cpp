#include "checks/exercises/rule.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <vector>

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
std::string program(const std::string& text) {
  std::string code = "struct Element { long ";
  for (const std::string_view name : NAMES) code += std::string(name) + (name == "dv" ? "; };\n" : ", ");
  code += "extern \"C\" long rule(const Element& element) {\n  [[maybe_unused]] const auto& [";
  for (const std::string_view name : NAMES) code += std::string(name) + (name == "dv" ? "] = element;\n" : ", ");
  return code + "  return bool(\n#line 1 \"rule\"\n" + text + "\n);\n}\n";
}

std::string compiler() {
  for (const char* name : {"HOST_CXX", "CXX"})
    if (const char* set = std::getenv(name); set && *set) return set;
  return "g++";
}

// Its diagnostics go to the file `said`. Returns whether it succeeds.
bool compile(const std::string& source, const std::string& library, const std::string& said) {
  std::vector<std::string> words = {"env", "LC_ALL=C"};
  std::istringstream name(compiler());
  for (std::string word; name >> word;) words.push_back(word);
  for (const char* word :
       {"-std=c++20", "-O1", "-fwrapv", "-shared", "-fPIC", "-Wall", "-Wextra", "-Wno-int-in-bool-context"})
    words.push_back(word);
  for (const std::string& word : {source, std::string("-o"), library}) words.push_back(word);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 2, said.c_str(), O_WRONLY | O_CREAT, 0600);
  pid_t child = 0;
  const int error = posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  int status = 1;
  return error == 0 && waitpid(child, &status, 0) == child && status == 0;
}

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
  if (!compiled) throw BadInput("'" + text + "' cannot be compiled by " + compiler() + ": " + any);
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
  namespace fs = std::filesystem;
  std::string folder = (fs::temp_directory_path() / "lab-rule-XXXXXX").string();
  if (!mkdtemp(folder.data())) throw BadInput("no file can be made in " + folder);
  const struct Folder {
    fs::path path;
    ~Folder() { fs::remove_all(path); }
  } made{folder};
  const std::string source = folder + "/rule.cpp", library = folder + "/rule.so", said = folder + "/said";
  std::ofstream(source) << program(text);
  const bool compiled = compile(source, library, said);
  std::ifstream says(said);
  refuse_what_is_said_of(text, says, compiled);
  library_ = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
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
  constexpr int CELLS = 16, MOST_LINES = 12;
  const int width = std::max(1, columns / CELLS);
  const auto cells = [&](const std::string& marks, int row) {
    std::string line;
    for (int cell = 0; cell < columns / width; ++cell) {
      const auto begin = marks.begin() + row * columns + cell * width;
      const auto marked = std::count(begin, begin + width, '#');
      line += marked == width ? '#' : marked ? '+' : '.';
    }
    return line;
  };
  struct Line {
    int first, last;
    std::string text;
    bool same;
  };
  std::vector<Line> lines;
  for (int row = 0; row < int(yours.size()) / columns; ++row) {
    const std::size_t at = std::size_t(row) * columns;
    const bool same = yours.compare(at, columns, seen, at, columns) == 0;
    const std::string text = cells(yours, row) + "  " + cells(seen, row) + (same ? "" : "  differ");
    if (!lines.empty() && lines.back().text == text)
      lines.back().last = row;
    else
      lines.push_back({row, row, text, same});
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
  map.push_back("  # all, + some, . none of " + std::to_string(width) + " columns");
  return map;
}

}  // namespace lab
