// The head of a bug's patch, and exit statuses that together say whether a bug was reproduced.
#include <doctest/doctest.h>

#include "checks/bugs/patch.hpp"
#include "checks/bugs/reproduce.hpp"
#include "checks/tests/scratch.hpp"

using namespace lab;

TEST_CASE("a bug's patch: its head, its changed lines, and a head that is refused") {
  const std::string diff = "\n--- a/s/kernel.cu\n+++ b/s/kernel.cu\n@@ -1,2 +1,2 @@\n same\n-slow: x\n+slow: y\n";
  const Patch patch = parse_patch("p", "plants: a\npredicted: b: c\nalso: v2 v2a\n" + diff);
  CHECK((patch.plants == "a" && patch.predicted == "b: c" && patch.also == "v2 v2a" && patch.slow.empty()));
  REQUIRE(patch.changes.size() == 2);
  CHECK((!patch.changes[0].added && patch.changes[1].added && patch.changes[1].text == "slow: y"));
  CHECK(patch.changes[1].number == 10);
  const auto complaint = [&](const std::string& head) { return complaint_of([&] { parse_patch("p", head + diff); }); };
  CHECK(complaint("plants: a\n") == "p lacks one of `plants:`, `predicted:` and a diff that changes something");
  CHECK(complaint("plants: a\nharmles: no\npredicted: b\n").starts_with("p:2: 'harmles: no' is not `key: value`"));
  CHECK(complaint("plants: a\nplants: b\npredicted: b\n").starts_with("p:2: 'plants: b'"));
  CHECK(complaint_of([] { parse_patch("p", "plants: a\npredicted: b\n"); }).starts_with("p lacks"));
}

TEST_CASE("a signature counts if it shows where it must and nowhere else") {
  CHECK(judge_signatures(0, 0) == Shown::yes);
  CHECK(judge_signatures(0, 3) == Shown::yes);
  CHECK(judge_signatures(3, 0) == Shown::hidden);
  CHECK(judge_signatures(3, 3) == Shown::hidden);
  CHECK(judge_signatures(3, 1) == Shown::no);
  CHECK(judge_signatures(0, 1) == Shown::no);
  CHECK(judge_signatures(1, 0) == Shown::no);
  CHECK(judge_signatures(2, 0) == Shown::no);
  CHECK(judge_signatures(127, 127) == Shown::no);
}

TEST_CASE("an acceptance must be red on a bug, green where the answers are right; a crash is neither") {
  CHECK(judge_acceptance(1, false, false, false) == Colour::as_it_must);
  CHECK(judge_acceptance(0, false, false, false) == Colour::wrong);
  CHECK(judge_acceptance(139, false, false, false) == Colour::wrong);
  CHECK(judge_acceptance(0, true, false, false) == Colour::as_it_must);
  CHECK(judge_acceptance(1, true, false, false) == Colour::wrong);
  CHECK(judge_acceptance(0, false, true, false) == Colour::hidden);
  CHECK(judge_acceptance(1, false, true, false) == Colour::as_it_must);
  CHECK(judge_acceptance(3, false, true, true) == Colour::skipped);
  CHECK(judge_acceptance(3, false, false, false) == Colour::wrong);
  CHECK(judge_acceptance(1, false, false, true) == Colour::as_it_must);
}
