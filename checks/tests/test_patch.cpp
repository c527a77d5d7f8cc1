// A bug's patch: its head, its hunks, where they go, and the one line that says what is wrong with one.
#include <doctest/doctest.h>

#include <string>

#include "checks/desk/patch.hpp"
#include "checks/tests/scratch.hpp"
#include "reference/bad_input.hpp"

namespace {
using namespace lab;
using namespace lab::desk;

const std::string PATH = "stages/v0/bugs/slip.patch";
const std::string HEAD =
    "plants: two for one\npredicted: none\n\n--- a/stages/v0/kernel.cu\n+++ b/stages/v0/kernel.cu\n";
const std::string SOURCE = "a\nb\nc\nd\ne\nf\ng\nh\n";
const std::string HUNK = "@@ -3,3 +3,4 @@\n c\n-d\n+D1\n+D2\n e\n";  // its first added line is line 9 of HEAD + HUNK

// Parsing and applying `text` is one line that starts so and has the piece.
void complains(const std::string& text, const std::string& start, const std::string& piece,
               const std::string& source = SOURCE) {
  const std::string said = complaint_of([&] { patched_for_compiler(parse_patch(PATH, text), source); });
  CAPTURE(said);
  CHECK(said.starts_with(start));
  CHECK((has(said, piece) && !has(said, "\n")));
}

}  // namespace

TEST_CASE("patch: the head") {
  const Patch patch =
      parse_patch(PATH,
                  "plants: a: b\npredicted: x\nalso: v2 v2c4\nharmless: h\nslow: s\nunseen: u\nlucky: l\nmap: m ≥ "
                  "3\n\n--- a/stages/v0/kernel.cu\n"
                  "+++ b/stages/v0/kernel.cu\n" +
                      HUNK);
  CHECK(patch.plants == "a: b");
  CHECK(patch.predicted == "x");
  CHECK(patch.also == std::vector<std::string>{"v2", "v2c4"});
  CHECK(patch.harmless == "h");
  CHECK(patch.slow == "s");
  CHECK(patch.unseen == "u");
  CHECK(patch.lucky == "l");
  CHECK(patch.map == "m ≥ 3");
  CHECK(patch.head ==
        "plants: a: b\npredicted: x\nalso: v2 v2c4\nharmless: h\nslow: s\nunseen: u\nlucky: l\nmap: m ≥ 3\n");
  CHECK(patch.source == "stages/v0/kernel.cu");
  CHECK(patch.hunks.size() == 1);
  const Patch plain = parse_patch(PATH, HEAD + HUNK);
  CHECK(plain.also.empty());
  CHECK(plain.map.empty());
  CHECK(plain.slow.empty());
  CHECK(plain.unseen.empty());
}

TEST_CASE("patch: what is wrong with a head is one line") {
  const std::string diff = "--- a/stages/v0/kernel.cu\n+++ b/stages/v0/kernel.cu\n" + HUNK;
  complains("predicted: x\n" + diff, PATH + ":1: ", "no `plants:`");
  complains("plants: x\n" + diff, PATH + ":1: ", "no `predicted:`");
  complains("plants: x\npredicted: y\nhint: z\n" + diff, PATH + ":3: ", "the keys are plants, predicted");
  complains("plants: x\npredicted: y\nno colon\n" + diff, PATH + ":3: ", "not `key: value`");
  complains("predicted: y\nplants: x\n" + diff, PATH + ":2: ", "out of place");
  complains("plants: x\nplants: x\n" + diff, PATH + ":2: ", "once each");
  complains("plants: x\npredicted:  \n" + diff, PATH + ":2: ", "says nothing");
  complains("plants: x\npredicted: y\n", PATH + ":3: ", "a diff must follow");
  complains("", PATH + ":1: ", "no `plants:`");
}

TEST_CASE("patch: what is wrong with a diff is one line") {
  complains(HEAD, PATH + ":6: ", "changes nothing");
  complains("plants: x\npredicted: y\n--- a/stages/v0/kernel.cu\n+++ b/common/tile.cuh\n" + HUNK,
            PATH + ":4: ", "nothing else");
  complains(HEAD + "@@ 3 @@\n c\n", PATH + ":6: ", "not the beginning of a hunk");
  complains(HEAD + "@@ -3,3 +3,4 @@\n c\n-d\n+D1\n", PATH + ":10: ", "ends inside a hunk");
  complains(HEAD + "@@ -3,2 +3,2 @@\n c\n-d\n-e\n+D\n", PATH + ":6: ", "other numbers of lines");
  complains(HEAD + "@@ -3,3 +3,3 @@\n c\nd\n e\n", PATH + ":8: ", "begins with a blank");
  complains(HEAD + "@@ -3,0 +3,1 @@\n+x\n", PATH + ":6: ", "no line of the source");
  complains(HEAD + HUNK + "and more\n", PATH + ":12: ", "not the beginning of a hunk");
}

TEST_CASE("patch: applied as it stands, and for a compiler") {
  const Patch patch = parse_patch(PATH, HEAD + HUNK);
  CHECK(patched_text(patch, SOURCE) == "a\nb\nc\nD1\nD2\ne\nf\ng\nh\n");
  CHECK(patched_for_compiler(patch, SOURCE) == "#line 1 \"stages/v0/kernel.cu\"\na\nb\nc\n#line 9 \"" + PATH +
                                                   "\"\nD1\nD2\n#line 5 \"stages/v0/kernel.cu\"\ne\nf\ng\nh\n");
  const Patch removal = parse_patch(PATH, HEAD + "@@ -3,3 +3,2 @@\n c\n-d\n e\n");
  CHECK(patched_for_compiler(removal, SOURCE) ==
        "#line 1 \"stages/v0/kernel.cu\"\na\nb\nc\n#line 5 \"stages/v0/kernel.cu\"\ne\nf\ng\nh\n");
}

TEST_CASE("patch: several hunks, the first and the last line, an empty line of context") {
  const Patch patch =
      parse_patch(PATH, HEAD + "@@ -1 +1,2 @@\n-a\n+A\n+A2\n@@ -4,2 +5,2 @@\n\n-e\n+E\n@@ -7,2 +8,2 @@\n g\n-h\n+H\n");
  CHECK(patched_text(patch, "a\nb\nc\n\ne\nf\ng\nh\n") == "A\nA2\nb\nc\n\nE\nf\ng\nH\n");
}

TEST_CASE("patch: a hunk may have moved, if its lines are in one place only") {
  const Patch patch = parse_patch(PATH, HEAD + HUNK);
  CHECK(patched_text(patch, "new\nnew\n" + SOURCE) == "new\nnew\na\nb\nc\nD1\nD2\ne\nf\ng\nh\n");
  CHECK(patched_text(patch, "c\nd\ne\n") == "c\nD1\nD2\ne\n");
  // Where the diff says is where it goes, whatever else looks like it.
  CHECK(patched_text(patch, "a\nb\nc\nd\ne\nc\nd\ne\n") == "a\nb\nc\nD1\nD2\ne\nc\nd\ne\n");
  complains(HEAD + HUNK, PATH + ":6: hunk 1 of 1 fits 2 places of stages/v0/kernel.cu", "lines 1 and 5",
            "c\nd\ne\nx\nc\nd\ne\n");
}

TEST_CASE("patch: nothing is guessed") {
  complains(HEAD + HUNK, PATH + ":6: hunk 1 of 1 no longer applies", "not in stages/v0/kernel.cu", "a\nb\nc\nd \ne\n");
  complains(HEAD + HUNK, PATH + ":6: hunk 1 of 1", "no longer applies", "a\nb\nc\nx\ne\n");
  complains(HEAD + HUNK, PATH + ":6: hunk 1 of 1", "no longer applies", "");
  // The second hunk's lines stand before the first's.
  complains(HEAD + "@@ -5,2 +5,2 @@\n e\n-f\n+F\n@@ -1,2 +1,2 @@\n a\n-b\n+B\n", PATH + ":10: hunk 2 of 2",
            "no longer applies");
}

TEST_CASE("patch: a change inside a continued line cannot be named to a compiler") {
  complains(HEAD + "@@ -1,2 +1,3 @@\n a \\\n+x\n b\n", "stages/v0/bugs/slip.patch:8: ", "continues", "a \\\nb\n");
}

TEST_CASE("patch: a file that is not there") {
  CHECK_THROWS_WITH_AS(read_patch("stages/v0/bugs/none.patch"),
                       "stages/v0/bugs/none.patch cannot be read; it is sought from the repository's root", BadInput);
}
