// A learner's rule: what is let through, what the compiler says, and the map that answers a wrong one.
#include <doctest/doctest.h>

#include <algorithm>

#include "checks/exercises/rule.hpp"
#include "checks/tests/scratch.hpp"
#include "reference/bad_input.hpp"

using namespace lab;

TEST_CASE("rules: names and C's precedence, compiled") {
  const auto count = [](const std::string& text) {  // of the elements of (1, 2, 100, 64)
    const Rule rule(text);
    long marked = 0;
    for (long h = 0; h < 2; ++h)
      for (long row = 0; row < 100; ++row) marked += std::ranges::count(rule.marks({0, h, row, 0, 100, 64, 1}), '#');
    return marked;
  };
  CHECK(count("1") == 12800);
  CHECK(count("row%64>=56&&h==1") == 8 * 64);
  CHECK(count("row < 3 || row >= S - 1 && col == 0") == 2 * (3 * 64 + 1));
  CHECK(count("(col ^ 3) < 2 and not (dq or !causal)") == 2 * 100 * 2);
  CHECK(count("row != 0 && 8 / row == 8") == 2 * 64);
  CHECK_THROWS_WITH_AS(count("8 / row == 8"), "'8 / row == 8' divides by zero", BadInput);
  CHECK(Rule("dk && row > 3").marks({.row = 4, .D = 2, .dk = 1}) == "##");
  // A rule that C reads otherwise than it looks is refused in the compiler's words.
  const auto complaint = [](const std::string& text) { return complaint_of([&] { Rule rule(text); }); };
  CHECK(complaint("row & 7 == 0") ==
        "'row & 7 == 0', at character 9: suggest parentheses around comparison in operand of '&'");
  CHECK(has(complaint("0 < row < 4"), "boolean expression"));
  CHECK(complaint("(row & 7) == 0").empty());
  // Nothing is run by a compiler that is not there.
  setenv("HOST_CXX", "no-such-compiler", 1);
  CHECK(has(complaint("row"), "no-such-compiler: not found"));
  unsetenv("HOST_CXX");
}

TEST_CASE("rules: a wrong one is answered with a map of what it marks beside what is wrong") {
  std::string yours(40 * 32, '.'), seen = yours;
  for (int row = 8; row < 16; ++row)
    seen.replace(std::size_t(row) * 32, 32, 32, '#'), yours[std::size_t(row) * 32] = '#';
  CHECK(rule_map(yours, seen, 32, "NaN") ==
        std::vector<std::string>{"  rows          your rule         NaN",  //
                                 "  0 to 7        ................  ................",
                                 "  8 to 15       +...............  ################  differ",
                                 "  16 to 39      ................  ................",
                                 "  a character is 8 rows x 2 columns: # all, + some, . none"});
  // A rule with a period of its own is a line where rows are seen alike, and one row too few is some of eight.
  for (int row = 0; row < 40; ++row) yours.replace(std::size_t(row) * 32, 32, 32, row % 3 ? '.' : '#');
  CHECK(rule_map(yours, seen, 32, "NaN")[2] == "  8 to 15       ++++++++++++++++  ################  differ");
  CHECK(rule_map(yours, seen, 32, "NaN").size() == 5);
  for (int row = 0; row < 40; row += 2) seen[std::size_t(row) * 32 + 31] = '#';
  const std::vector<std::string> map = rule_map(yours, seen, 32, "wrong");
  CHECK(map[1] == "  0             ################  ...............+  differ");
  CHECK(map.size() == 15);
  CHECK(has(map[13], "more lines"));
}

TEST_CASE("rules: only numbers, names and operators reach the compiler, each where it may stand") {
  const auto complaint = [](const std::string& text) { return complaint_of([&] { check_rule(text); }); };
  for (const char* good : {"0", "row", "-row == -5 && !(col / 10)", "~row?col:+D", "row - -3 & 1 << 5", "((row))"})
    CHECK_MESSAGE(complaint(good).empty(), good);
  CHECK(complaint("row = 3") == "'row = 3', at character 5: '=' compares nothing; write ==");
  CHECK(
      complaint("rwo > 3") ==
      "'rwo > 3', at character 1: 'rwo' is no number, name or operator; the names are b h row col S D causal dq dk dv");
  CHECK(has(complaint("(row > 3"), "a ')' is missing"));
  CHECK(has(complaint("row > "), "something is missing"));
  CHECK(has(complaint("row > 3 4"), "an operator is missing before '4'"));
  // Calls, strings, statements, comments, pointers, digraphs, directives, and parentheses that close the checks' own.
  for (const char* bad :
       {"",         "system(\"id\")", "row(1)",   "'a'",      "row; 1",   "row, 1", "{1}",   "row[1]",  "row <: 1",
        "row <% 1", "%: 1",           "row // 1", "row /* 1", "row */ 1", "*&row",  "&row",  "&&row",   "row?\?(1",
        "#1",       "row\n#1",        "row \\",   "__LINE__", "0x1",      "1e9",    "1.5",   "1L",      "row = 1",
        "row += 1", "row)||(1",       "asm",      "$",        "@",        "`id`",   "$(id)", "row->col"})
    CHECK_MESSAGE(!complaint(bad).empty(), bad);
  CHECK(!complaint(std::string(500, '-') + "1").empty());
}
