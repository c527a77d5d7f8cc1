// Expressions: the rules in which a learner says which elements are wrong, and the numbers of a levers.conf.
#include <doctest/doctest.h>

#include "checks/expression.hpp"
#include "checks/tests/scratch.hpp"
#include "reference/bad_input.hpp"

using namespace lab;

namespace {

long count(const std::string& text) {  // of the elements of (1, 2, 100, 64)
  const Rule rule(text);
  long marked = 0;
  for (long h = 0; h < 2; ++h)
    for (long row = 0; row < 100; ++row)
      for (long col = 0; col < 64; ++col) marked += rule.marks({0, h, row, col, 100, 64, 1});
  return marked;
}

}  // namespace

TEST_CASE("rules: names, and C's precedence") {
  CHECK(count("0") == 0);
  CHECK(count("1") == 12800);
  CHECK(count("row % 64 >= 56") == 2 * 8 * 64);
  CHECK(count("row%64>=56&&h==1") == 8 * 64);
  CHECK(count("row < 3 || row >= S - 1 && col == 0") == 2 * (3 * 64 + 1));
  CHECK(count("(row < 3 || row >= S - 1) && col == 0") == 2 * 4);
  CHECK(count("row mod 64 * (D + 8) + col >= 64 * D") == count("row % 64 * 72 + col >= 4096"));
  CHECK(count("col & 1 << 5") == 6400);
  CHECK(count("(col ^ 3) < 2") == 2 * 100 * 2);
  CHECK(count("not causal or row - 2 < 0") == 2 * 2 * 64);
  CHECK(count("!(row / 10) && -row == -5") == 2 * 64);
  CHECK(count("~row == -1") == 2 * 64);
  CHECK(count("10 - 3 - 2 == 5 && col < 1 && row < 1") == 2);
  CHECK(count("dq || dk || dv") == 0);  // of the forward pass
  CHECK(Rule("dk && row > 3").marks({0, 0, 4, 0, 100, 64, 0, 0, 1, 0}));
  CHECK_FALSE(Rule("dk && row > 3").marks({0, 0, 4, 0, 100, 64, 0, 1, 0, 1}));
}

TEST_CASE("rules: the second half of && and || is only looked at where it counts") {
  CHECK(count("row != 0 && 8 / row == 8") == 2 * 64);
  CHECK_THROWS_AS(count("8 / row == 8"), BadInput);
}

TEST_CASE("rules: what is none says where") {
  const auto complaint = [](const std::string& text) { return complaint_of([&] { Rule{text}; }); };
  CHECK(complaint("row = 3") == "'row = 3', at character 5: '=' compares nothing; write ==");
  CHECK(complaint("rwo > 3") ==
        "'rwo > 3', at character 1: 'rwo' is no number and no name; the names are b h row col S D causal dq dk dv");
  CHECK(has(complaint("row & 7 == 0"), "write parentheses, as in (row & 7) == 0"));
  CHECK(has(complaint("3 < row | col"), "'|' is weaker than a comparison"));
  CHECK(complaint("(row & 7) == 0").empty());
  CHECK(complaint("row & (7 == 0)").empty());
  CHECK(complaint("row == 1 | row == 5").empty());
  CHECK(complaint("row & 7 && col < 3").empty());
  CHECK(has(complaint("(row > 3"), "a ')' is missing"));
  CHECK(has(complaint("row > "), "something is missing"));
  CHECK(has(complaint("row > 3 4"), "'4' is not expected here"));
  CHECK(has(complaint(""), "something is missing"));
  CHECK(has(complaint("row $ 3"), "'$' means nothing"));
  CHECK(has(complaint("99999999999999999999"), "is no number"));
  CHECK(has(complaint(std::string(500, '(')), "too deep"));
  CHECK(has(complaint(std::string(500, '-') + "1"), "too deep"));
}

TEST_CASE("rules: no arithmetic is undefined") {
  CHECK_THROWS_WITH(count("1 << 64"), doctest::Contains("shifts by 64"));
  CHECK_THROWS_WITH(count("1 << -1"), doctest::Contains("shifts by -1"));
  CHECK_THROWS_WITH(count("row % (col - col)"), doctest::Contains("divides by zero"));
  CHECK(count("2147483647 * 2147483647 * 2147483647 != 7") == 12800);
  CHECK(count("(1 << 62) * 2 / -1 == (1 << 62) * 2") == 12800);
  CHECK(count("(1 << 62) * 2 % -1 == 0") == 12800);
}

TEST_CASE("expressions: of named numbers, with ?:, min and max") {
  const std::map<std::string, long> names = {{"N", 96}, {"D", 64}};
  CHECK(evaluate("N * 3 / 4 + D / 2", names) == 104);
  CHECK(evaluate("1 + 2 * 3 == 7 && !(N < D)", names) == 1);
  CHECK(evaluate("D == 64 ? N / 2 : N * 3 / 4", names) == 48);
  CHECK(evaluate("D == 128 ? 1 / 0 : -N % 5", names) == -1);
  CHECK(evaluate("max(min(N, 240), D)", names) == 96);
  CHECK(evaluate("D == 64 || 1 / 0", names) == 1);
  CHECK_THROWS_WITH_AS(evaluate("N * M", names),
                       "'N * M', at character 5: 'M' is no number and no name; the names are D N", BadInput);
  CHECK_THROWS_WITH_AS(evaluate("N / (D - 64)", names), "'N / (D - 64)' divides by zero", BadInput);
  CHECK_THROWS_AS(evaluate("32e6", names), BadInput);
  CHECK_THROWS_AS(evaluate("max(N)", names), BadInput);
  CHECK_THROWS_AS(evaluate("D ? N", names), BadInput);
}
