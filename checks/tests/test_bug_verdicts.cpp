// Exit statuses that together say whether a bug was reproduced.
#include <doctest/doctest.h>

#include "checks/bugs/reproduce.hpp"

using namespace lab;

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
