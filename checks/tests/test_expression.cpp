// Expressions: the numbers of a levers.conf.
#include <doctest/doctest.h>

#include "checks/expression.hpp"
#include "checks/tests/scratch.hpp"
#include "reference/bad_input.hpp"

using namespace lab;

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
