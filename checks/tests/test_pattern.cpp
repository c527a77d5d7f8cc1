// The words for what red cases have in common.
#include <doctest/doctest.h>

#include <utility>

#include "checks/acceptance/cases.hpp"
#include "checks/acceptance/pattern.hpp"

using namespace lab;

namespace {
// Every case of the acceptance; red where `red` says so.
template <class Red>
std::string pattern_where(Red red) {
  std::vector<CaseOutcome> outcomes;
  for (const Case& c : forward_cases(1)) outcomes.push_back({c, !red(c)});
  return red_pattern(outcomes);
}
}  // namespace

TEST_CASE("pattern: nothing red, everything red, one case") {
  CHECK(pattern_where([](const Case&) { return false; }) == "");
  CHECK(pattern_where([](const Case&) { return true; }) ==
        "all " + std::to_string(forward_cases(1).size()) + " cases that ran");
  bool first = true;
  CHECK(pattern_where([&](const Case&) { return std::exchange(first, false); }) == "");
}

TEST_CASE("pattern: a property that all red cases have, and how many of its cases are red") {
  CHECK(pattern_where([](const Case& c) { return c.shape.causal; }).starts_with("only causal, and all "));
  CHECK(pattern_where([](const Case& c) { return c.shape.D == 128; }).starts_with("only D = 128, and all "));
  CHECK(pattern_where([](const Case& c) { return c.shape.S >= 1024; }).starts_with("only S >= 1024, and all "));
  CHECK(pattern_where([](const Case& c) { return c.shape.H > 1; }).starts_with("only more than one head, and all "));
  const std::string some = pattern_where([](const Case& c) { return c.shape.causal && c.shape.S > 400; });
  CHECK(some.starts_with("only causal ("));
}

TEST_CASE("pattern: the narrower of two properties is said") {
  CHECK(pattern_where([](const Case& c) {
          return c.shape.S >= 1024 && c.shape.D == 128 && c.shape.causal;
        }).starts_with("only S >= 1024, D = 128 ("));
}

TEST_CASE("pattern: red cases that share nothing have none") {
  CHECK(pattern_where([](const Case& c) { return (c.shape.D == 64) == c.shape.causal; }) == "");
}
