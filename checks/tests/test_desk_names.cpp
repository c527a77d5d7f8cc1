// The desk on names: what a word means, and what was probably meant. Stages of the backward pass are found by name, and are in
// no list of the forward pass.
#include <doctest/doctest.h>

#include "checks/desk/ladder.hpp"
#include "checks/tests/scratch.hpp"

using namespace lab;
using namespace lab::desk;

namespace {

// A small ladder of its own below /tmp, gone at the end of the test.
struct ScratchLadder : lab::Scratch {
  ScratchLadder() : Scratch("names") {
    write("stages/v10_late/stage.conf", "idea=\"the last\"\n");
    write("stages/v2b_middle/stage.conf", "# a comment\nidea=\"one = two # three\"  # behind\nregisters=48\n");
    write("stages/v1_first/stage.conf", "idea=\"the first\"\n");
    write("stages/v2b_middle/bugs/race.patch",
          patch("also: v2 v2a\nunseen: fibers keep the order\nlucky: by the order of warps\n"));
    write("stages/v2b_middle/bugs/accum.patch", patch("slow: two turns for one\n"));
    write("stages/v10_late/bugs/ldm.patch", patch("also: v2a\nharmless: nothing reads it\n"));
  }
  static std::string patch(const std::string& keys) {
    return "plants: a change\npredicted: another answer\n" + keys +
           "\n--- a/stages/s/kernel.cu\n+++ b/stages/s/kernel.cu\n@@ -1 +1 @@\n-also: x\n+also: y\n";
  }
  Ladder ladder() const { return read_ladder(root.string()); }
};

std::vector<std::string> pairs(const std::vector<const Bug*>& bugs) {
  std::vector<std::string> all;
  for (const Bug* bug : bugs) all.push_back(bug->pair());
  return all;
}

using Words = std::vector<std::string>;

Words dirs(const std::vector<const Stage*>& stages) {
  Words all;
  for (const Stage* stage : stages) all.push_back(stage->dir);
  return all;
}

struct BackwardTree : Scratch {
  BackwardTree() : Scratch("backward-ladder") {
    write("stages/v1_one/stage.conf", "idea=\"one\"\nroad=\"main\"\n");
    write("stages/b1_first/stage.conf", "pass=\"backward\"\nsame_bits=\"yes\"\n");
    for (const std::string stage : {"b10_last", "b2_next"})
      write("stages/" + stage + "/stage.conf", "pass=\"backward\"\n");
  }
};

}  // namespace

TEST_CASE("the edit distance counts insertions, deletions and replacements") {
  CHECK(edit_distance("", "") == 0);
  CHECK(edit_distance("", "abc") == 3);
  CHECK(edit_distance("abc", "") == 3);
  CHECK(edit_distance("kitten", "sitting") == 3);
  CHECK(edit_distance("tset", "test") == 1);
  CHECK(edit_distance("ab", "bca") == 3);
  CHECK(edit_distance("ldm", "ldm") == 0);
}

TEST_CASE("the nearest names come first, equally near ones by name, none twice") {
  CHECK(nearest("tset", {"run", "test", "list", "test", "reset"}) == Words{"test", "reset", "list"});
  CHECK(nearest("b", {"c", "a"}) == Words{"a", "c"});
  CHECK(nearest("b", {}) == Words{});
}

TEST_CASE("versions compare as numbers where they are numbers") {
  CHECK(version_less("v2", "v2b"));
  CHECK(version_less("v2b", "v2c1"));
  CHECK(version_less("v9", "v10"));
  CHECK_FALSE(version_less("v10", "v9"));
  CHECK_FALSE(version_less("v2c5", "v2c5"));
  CHECK(version_less("v2c5", "v2c5b"));
  CHECK(version_less("v02", "v3"));
  CHECK(version_less("v10", "mine"));
  CHECK_FALSE(version_less("mine", "v10"));
  CHECK(version_less("copy", "mine"));
}

TEST_CASE("from= and road=: the main road in order, side roads where they leave it") {
  const ScratchLadder scratch;
  scratch.write("stages/v2b_middle/stage.conf", "from=\"v1_first\"\nroad=\"main\"\n");
  scratch.write("stages/v10_late/stage.conf", "from=\"v1_first\"\nroad=\"side\"\nwas=\"v9_early\"\n");
  const Ladder ladder = scratch.ladder();
  CHECK(dirs(ladder.main_road()) == Words{"v1_first", "v2b_middle"});
  CHECK(dirs(ladder.side_roads("v1_first")) == Words{"v10_late"});
  CHECK(ladder.side_roads("v2b_middle").empty());
  CHECK_THROWS_WITH_AS(ladder.bugs("v9_early"), "v9_early became v10_late: stage=v10", lab::BadInput);
  CHECK_THROWS_WITH_AS(ladder.bugs("v9"), "v9 became v10_late: stage=v10", lab::BadInput);
}

TEST_CASE("a road that leads nowhere is refused") {
  const auto refused = [](const std::string& conf, const char* message) {
    const ScratchLadder scratch;
    scratch.write("stages/v2b_middle/stage.conf", conf);
    CHECK_THROWS_WITH_AS(scratch.ladder(), message, lab::BadInput);
  };
  refused("from=\"v1\"\nroad=\"wide\"\n", "stages/v2b_middle/stage.conf: road=wide: must be main or side");
  refused("from=\"v0\"\n", "stages/v2b_middle/stage.conf: from=v0: must be the directory of an earlier stage");
  refused("from=\"v10_late\"\n",
          "stages/v2b_middle/stage.conf: from=v10_late: must be the directory of an earlier stage");
  const ScratchLadder scratch;
  scratch.write("stages/v2b_middle/stage.conf", "from=\"v1_first\"\nroad=\"side\"\n");
  scratch.write("stages/v10_late/stage.conf", "from=\"v2b_middle\"\nroad=\"main\"\n");
  CHECK_THROWS_WITH_AS(scratch.ladder(), "stages/v10_late/stage.conf: road=main, and from=v2b_middle is on a side road",
                       lab::BadInput);
}

TEST_CASE("stage.conf: quotes, bare values and comments") {
  const auto conf =
      parse_conf("# head\nidea=\"one = two # three\"  # behind\nregisters=48 # per thread\nempty=\"\"\n\n", "x");
  CHECK(conf.at("idea") == "one = two # three");
  CHECK(conf.at("registers") == "48");
  CHECK(conf.at("empty") == "");
  CHECK(conf.size() == 3);
}

TEST_CASE("stage.conf: a wrong line is named") {
  for (const char* text :
       {"a=\"1\"\nnonsense\n", "a=\"1\"\nb=\"open\n", "a=\"1\"\nb=\"x\" y\n", "a=1\na=2\n", "a=1\n=2\n"}) {
    CAPTURE(text);
    CHECK_THROWS_WITH_AS(parse_conf(text, "s.conf"), doctest::Contains("s.conf:2: "), lab::BadInput);
  }
}

TEST_CASE("the ladder is read from the directories, in the order of the climb") {
  const ScratchLadder scratch;
  const Ladder ladder = scratch.ladder();
  REQUIRE(dirs(ladder.all()) == Words{"v1_first", "v2b_middle", "v10_late"});
  CHECK(ladder.stages[1].says("registers") == "48");
  CHECK(ladder.stages[1].says("no_such_key") == "");
  CHECK(ladder.historical() == Words{"v2", "v2a"});
  const Bug* ldm = ladder.stages[2].bug("ldm");
  REQUIRE(ldm);
  CHECK(ldm->plants == "a change");
  CHECK(ldm->predicted == "another answer");
  CHECK(ldm->harmless == "nothing reads it");
  CHECK(ldm->lucky.empty());
  CHECK(ldm->also == Words{"v2a"});  // and not the diff's own lines
  CHECK(ldm->slow.empty());
  CHECK(ldm->unseen.empty());
  CHECK(ladder.stages[1].bug("race")->unseen == "fibers keep the order");
  CHECK(ladder.stages[1].bug("accum")->slow == "two turns for one");
  CHECK((ldm->right() && ladder.stages[1].bug("accum")->right() && !ladder.stages[1].bug("race")->right()));
}

TEST_CASE("a name means a stage, its short name or a broken version") {
  const ScratchLadder scratch;
  const Ladder ladder = scratch.ladder();
  CHECK(ladder.stage("v2b") == &ladder.stages[1]);
  CHECK(ladder.stage("v2b_middle") == &ladder.stages[1]);
  CHECK_FALSE(ladder.stage("v2a"));
  CHECK(pairs(ladder.bugs("v2b")) == Words{"v2b_middle:accum", "v2b_middle:race"});
  CHECK(pairs(ladder.bugs("v2a")) == Words{"v2b_middle:race", "v10_late:ldm"});
  CHECK(pairs(ladder.bugs("v1")) == Words{});
  CHECK(pairs(ladder.bugs("v2a", "ldm")) == Words{"v10_late:ldm"});
}

TEST_CASE("an unknown name gets its nearest, and a bug of another stage its home") {
  const ScratchLadder scratch;
  const Ladder ladder = scratch.ladder();
  CHECK_THROWS_WITH_AS(ladder.bugs("v2bb"), "no stage 'v2bb'; the nearest are: v2b v2 v2a - see 'make list'",
                       lab::BadInput);
  CHECK_THROWS_WITH_AS(ladder.bugs("v2b", "acum"),
                       "stage 'v2b' has no bug 'acum'; the nearest are: accum race - see 'make list'", lab::BadInput);
  CHECK_THROWS_WITH_AS(ladder.bugs("v1", "race"), "race is a bug of v2b (stage=v2b or v2 or v2a)", lab::BadInput);
  CHECK_THROWS_WITH_AS(ladder.bugs("v2", "ldm"), "ldm is a bug of v10 (stage=v10 or v2a)", lab::BadInput);
}

TEST_CASE("files are written as a whole or not at all") {
  const ScratchLadder scratch;
  scratch.write("deep/er/text", "one\ntwo");
  CHECK(scratch.read("deep/er/text") == "one\ntwo");
  CHECK(lines_of(scratch.read("deep/er/text")) == Words{"one", "two"});
  CHECK_THROWS_AS(scratch.write("deep/er/text/below", "x"), lab::BadInput);
  for (const char* unreadable : {"deep", "absent"}) CHECK_THROWS_AS(scratch.read(unreadable), lab::BadInput);
  CHECK(scratch.read("deep/er/text") == "one\ntwo");
}

TEST_CASE("backward stages are a list of their own, in order, and every name finds them") {
  const BackwardTree tree;
  const Ladder ladder = read_ladder(tree.root.string());
  CHECK((ladder.stages.size() == 1 && ladder.backward.size() == 3));
  CHECK(dirs(ladder.main_road()) == Words{"v1_one"});
  CHECK(dirs(ladder.all()) == Words{"v1_one", "b1_first", "b2_next", "b10_last"});
  REQUIRE(ladder.stage("b2"));
  CHECK(ladder.stage("b2")->is_backward());
  CHECK(ladder.stage("b1_first")->says("same_bits") == "yes");
  CHECK_FALSE(ladder.stage("v1")->is_backward());
  CHECK(ladder.bugs("b1").empty());
  CHECK_THROWS_WITH(ladder.bugs("b3"), doctest::Contains("b2"));
}
