// Students' variants: what may differ differs, what a card speaks of stays, and the answers follow.
#include <doctest/doctest.h>

#include "checks/desk/learn/learn.hpp"
#include "checks/tests/scratch.hpp"

using namespace lab;
using namespace lab::desk;

TEST_CASE("variants: names change as whole words, and not where the card mentions them or they are taken") {
  Exercise e;
  e.kind = "fix", e.symptom = "Look at first_row.";
  vary(e, "lead=2 names=4");  // the first other name of q0, and of first_row
  CHECK(varied(e, "int q0 = q00; // q0\nint first_row;") ==
        "// One student's own: names and lines differ.\n\nint first_query = q00; // first_query\nint first_row;");
  CHECK(has(varied(e, "int q0, first_query;"), "int q0, first_query;"));
  Exercise plain;
  CHECK(varied(plain, "int q0;") == "int q0;");
}

TEST_CASE("variants: of every exercise, and at least twenty have another answer") {
  std::set<int> other;
  for (const Exercise& filed : read_course().all) {
    const bool solved = handed_out(filed) != solution(filed);
    for (const std::uint64_t drawn : {1ull, 123456789123ull}) {
      const std::string line = variant_of(filed, drawn);
      CHECK_MESSAGE(line == variant_of(filed, drawn), filed.path);
      if (line.empty()) continue;
      Exercise e = filed;
      REQUIRE_NOTHROW(vary(e, line.substr(line.find(' '))));
      CHECK_MESSAGE((handed_out(e) != solution(e)) == solved, e.path);
      CHECK_MESSAGE(leaks(e).empty(), e.path);
      const bool counts = e.predict == "counts";
      if (counts)
        CHECK_MESSAGE((e.shape != filed.shape && has(card(e), e.shape) && !has(card(e), filed.shape)), e.path);
      if (counts || as_typed(e, e.right) != as_typed(filed, filed.right)) other.insert(e.n);
    }
  }
  CHECK(other.size() >= 20);
}

TEST_CASE("variants: each constant of an exercise stands in its kernel, with an answer of its own") {
  int all = 0;
  for (const Exercise& filed : read_course().all)
    for (std::size_t i = 0; i < filed.variants.size(); ++i, ++all) {
      Exercise e = filed;
      vary(e, "edit=" + std::to_string(i));
      CHECK_MESSAGE(e.right != filed.right, e.path);
      CHECK_MESSAGE(handed_out(e) != handed_out(filed), e.path);
      CHECK_MESSAGE(has(solution(e), e.edit.second), e.path);
    }
  CHECK(all > 0);
}

TEST_CASE("variants: a line that is none is refused by file and line") {
  const std::string file = scratch_path("variant");
  write_text(file, "01 lead=3 names=5 edit=2\n\n214\n22 lead=3\n");
  const Course course = varied_course(file);
  CHECK(course.find("1").lead == 3);
  CHECK(course.find("1").edit.second == "PRODUCER = 2;");
  CHECK(course.find("22").lead == 3);
  CHECK(course.find("20").lead == 0);
  for (const std::string line :
       {"01 lead=99", "01 lead=x", "01 edit=7", "01 shape=1,1,64,64", "28 lead=3", "01 head=3", "01 lead"}) {
    write_text(file, "22 lead=3\n" + line + "\n");
    CHECK_THROWS_WITH_AS(varied_course(file), doctest::Contains((file + ":2: ").c_str()), BadInput);
  }
  std::filesystem::remove(file);
  CHECK(varied_course(file).find("1").lead == 0);
}
