// A learner's rule: what is let through, what the compiler says, and the map that answers a wrong one.
#include <doctest/doctest.h>

#include <algorithm>

#include "checks/exercises/rule.hpp"
#include "checks/tests/scratch.hpp"
#include "reference/bad_input.hpp"

using namespace lab;

TEST_CASE("rules: names and C's precedence, compiled") {
  const auto count = [](const std::string& text) {
    return std::ranges::count(rule_marks(text, {1, 2, 100, 64, true}, 1), '#');
  };
  CHECK(count("1") == 12800);
  CHECK(count("row%64>=56&&h==1") == 8 * 64);
  CHECK(count("row < 3 || row >= S - 1 && col == 0") == 2 * (3 * 64 + 1));
  CHECK(count("(col ^ 3) < 2 and not (dq or !causal)") == 2 * 100 * 2);
  CHECK(count("row != 0 && 8 / row == 8") == 2 * 64);
  CHECK_THROWS_WITH_AS(count("8 / row == 8"), "'8 / row == 8' divides by zero", BadInput);
  CHECK(rule_marks("dk && row > 3 || dv", {1, 1, 5, 2, false}, 3) == "..................##" + std::string(10, '#'));
  // A rule that C reads otherwise than it looks is refused in the compiler's words.
  const auto complaint = [](const std::string& text) {
    return complaint_of([&] { rule_marks(text, {1, 1, 1, 64, false}, 1); });
  };
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
                                 "  a character is 2 columns: # all, + some, . none"});
  for (int row = 0; row < 40; ++row) yours.replace(std::size_t(row) * 32, 32, 32, row % 3 ? '.' : '#');
  const std::vector<std::string> map = rule_map(yours, seen, 32, "wrong");
  CHECK(map[1] == "  0             ################  ................  differ");
  CHECK(map[2] == "  1 to 2        ................  ................");
  CHECK(map.size() == 15);
  CHECK(has(map[13], "more lines"));
}

TEST_CASE("rules: only numbers, names and operators reach the compiler, and it takes one expression alone") {
  const auto complaint = [](const std::string& text) { return complaint_of([&] { check_rule(text); }); };
  for (const char* good : {"0", "row", "-row == -5 && !(col / 10)", "~row?col:+D", "row - -3 & 1 << 5", "((row))"})
    CHECK_MESSAGE(complaint(good).empty(), good);
  CHECK(
      complaint("rwo > 3") ==
      "'rwo > 3', at character 1: 'rwo' is no number, name or operator; the names are b h row col S D causal dq dk dv");
  // Calls, strings, statements, directives.
  for (const char* bad :
       {"system(\"id\")", "'a'", "row; 1", "row, 1", "{1}", "row[1]", "row <% asm", "#1", "row\n#1", "row \\",
        "__LINE__",       "0x1", "1e9",    "1.5",    "1L",  "asm",    "$",          "@",  "`id`",    "$(id)"})
    CHECK_MESSAGE(!complaint(bad).empty(), bad);
  CHECK(!complaint(std::string(500, '-') + "1").empty());
  // What is made of these characters, and is no expression of the rule's own.
  const auto refusal = [](const std::string& text) {
    return complaint_of([&] { rule_marks(text, {1, 1, 1, 64, false}, 1); });
  };
  CHECK(refusal("row = 3") == "'row = 3', at character 5: assignment of read-only variable 'row'");
  CHECK(has(refusal("(row > 3"), "at character 9: expected ')'"));
  CHECK(has(refusal("row > 3 4"), "at character 9: expected"));
  for (const char* bad : {"", "row(1)", "row <: 1", "row <% 1", "%: 1", "%:%: 1", "row /* 1", "row */ 1", "&&row",
                          "row += 1", "row++", "row->col", "row)||(1", "row > "})
    CHECK_MESSAGE(has(refusal(bad), "at character"), bad);
}
