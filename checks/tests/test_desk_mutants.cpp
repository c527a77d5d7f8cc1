// The rules of unplanned mistakes.
#include <doctest/doctest.h>

#include "checks/desk/ladder.hpp"
#include "checks/desk/mutants.hpp"

using namespace lab;
using namespace lab::desk;

namespace {

// The text of a kernel after a mutation; "" where nothing changes.
std::string mutated_text(const Mutation& mutation, const std::string& text) {
  const std::vector<Source> changed = mutated(mutation, {{"kernel.cu", text}});
  return changed.empty() ? "" : changed.at(0).text;
}

}  // namespace

TEST_CASE("mutants: a rule changes every line where its text stands, or the one that it counts to") {
  const auto all = parse_mutations("# words\nevery: each b\n  /b(.)/c$1/\nsecond 2: the second b\n  /b/c/\n", "rules");
  REQUIRE(all.size() == 2);
  CHECK(all[0].what == "each b");
  CHECK(mutated_text(all[0], "b1\nab2b\nx\n") == "c1\nac2b\nx\n");
  CHECK(mutated_text(all[1], "b1\nab2b\nx\n") == "b1\nac2b\nx\n");
  CHECK(mutated_text(all[0], "x\n").empty());
  CHECK(mutated_text(all[1], "b\n").empty());
}

TEST_CASE("mutants: the first rule whose text stands counts; a slash is written \\/") {
  const auto all = parse_mutations("m: what\n  /x \\/ y/x * y/\n  /z/w/\n  equivalent v1: nobody reads it\n", "rules");
  CHECK(mutated_text(all[0], "x / y + z\n") == "x * y + z\n");
  CHECK(mutated_text(all[0], "z\n") == "w\n");
  CHECK(all[0].equivalent_in("v1_scalar") == "nobody reads it");
  CHECK(!all[0].equivalent_in("v2b_single_warp"));
  CHECK(parse_mutations("m: what\n  /z/w/\n  equivalent *: why\n", "rules")[0].equivalent_in("v3_x") == "why");
}

TEST_CASE("mutants: comments are no code, and change no mutant") {
  const auto all = parse_mutations("m: what\n  /b;$//\nwords: what\n  /the tile/x/\n", "rules");
  CHECK(mutated_text(all[0], "a b;  // b; the tile is there\n// b;\n") == "a   // b; the tile is there\n// b;\n");
  CHECK(mutated_text(all[1], "a b;  // the tile is there\n// the tile\n").empty());
}

TEST_CASE("mutants: a rule may ask for the lines of code around, past comments and directives") {
  const auto all = parse_mutations(
      "after: a\n  /b/c/ after /one/\nbefore: a\n  /b/c/ before /two/\nboth: a\n  /b/c/ before /two/ after /one/\n",
      "rules");
  const std::string text = "b\none  // two\n\n// two\nb\n#pragma two\ntwo\none\nb\nb\ntwo\n";
  CHECK(mutated_text(all[0], text) == "b\none  // two\n\n// two\nc\n#pragma two\ntwo\none\nc\nb\ntwo\n");
  CHECK(mutated_text(all[1], text) == "b\none  // two\n\n// two\nc\n#pragma two\ntwo\none\nb\nc\ntwo\n");
  CHECK(mutated_text(all[2], text) == "b\none  // two\n\n// two\nc\n#pragma two\ntwo\none\nb\nb\ntwo\n");
}

TEST_CASE("mutants: the text that a pattern needs is no part of what may be absent") {
  CHECK(literal_in("row_max = fmaxf") == "row_max = fmaxf");
  CHECK(literal_in("sum\\[i\\] \\*= a") == "sum[i] *= a");
  CHECK(literal_in("abc*de") == "ab");
  CHECK(literal_in("abc?d+efgh{2,3}i") == "efg");
  CHECK(literal_in("a(long text)?bcd") == "bcd");
  CHECK(literal_in("a[long text]\\w+bcd") == "bcd");
  CHECK(literal_in("a[)\\]](b long text)?cd") == "cd");
  CHECK(literal_in("one|other").empty());
  CHECK(literal_in("^\\s*(\\w+)$").empty());
}

TEST_CASE("mutants: a rule whose text stands in no stage is told") {
  const auto all = parse_mutations("m: what\n  /a/b/\n  /x/y/\nn 2: what\n  /a/b/\n", "rules");
  const std::vector<std::vector<Source>> stages = {{{"kernel.cu", "a\n"}}, {{"kernel.cu", "c\n// x\n"}}};
  CHECK(dead_rules(all, stages) == std::vector<std::string>{"m: /x/y/", "n: /a/b/"});
}

TEST_CASE("mutants: what is wrong with a file of rules is one line with its place") {
  CHECK_THROWS_WITH_AS(parse_mutations("  /a/b/\n", "rules"), "rules:1: a rule before the first name", BadInput);
  CHECK_THROWS_WITH_AS(parse_mutations("a: b\n  /a/b\n", "rules"), "rules:2: not /REGEX/REPLACEMENT/", BadInput);
  CHECK_THROWS_WITH_AS(parse_mutations("a: b\n  /(/b/\n", "rules"), "rules:2: '(' is no regular expression", BadInput);
  CHECK_THROWS_WITH_AS(parse_mutations("a: b\n  /a/b/ near /c/\n", "rules"),
                       "rules:2: 'near' is neither after nor before", BadInput);
  CHECK_THROWS_WITH_AS(parse_mutations("a: b\n", "rules"), "rules: a has no rule", BadInput);
  CHECK_THROWS_WITH_AS(parse_mutations("a: b\n  /a/b/\na: c\n", "rules"), "rules:3: a is there twice", BadInput);
  const auto earlier = parse_mutations("a: b\n  /a/b/\n", "rules");
  CHECK_THROWS_WITH_AS(parse_mutations("a: c\n", "more", earlier), "more:1: a is there twice", BadInput);
  CHECK_THROWS_WITH_AS(parse_mutations("  /a/b/\n", "more", earlier), "more:1: a rule before the first name", BadInput);
}

TEST_CASE("mutants: a rule finds its text in the headers that a kernel includes, and counts places through them") {
  const std::string root = "build/logs/mutant-sources";
  write_text(root + "/stages/v9/kernel.cu",
             "#include <cuda.h>\n#include \"common/a.cuh\"\n#include \"common/c.hpp\"\nx1\n");
  write_text(root + "/common/a.cuh", "#include \"common/ptx/b.cuh\"\ny x2\n");
  write_text(root + "/common/ptx/b.cuh", "#include \"common/a.cuh\"\nx3\n");
  write_text(root + "/common/c.hpp", "x4\n");
  const std::vector<Source> sources = sources_of("v9", root);
  std::filesystem::remove_all(root);
  REQUIRE(sources.size() == 3);
  CHECK(sources[0].path == "stages/v9/kernel.cu");
  CHECK(sources[1].path == "common/a.cuh");
  CHECK(sources[2].path == "common/ptx/b.cuh");

  const auto all =
      parse_mutations("every: a\n  /x(\\d)/z$1/\nthird 3: b\n  /x(\\d)/z$1/\nheader: c\n  /y/z/\n", "rules");
  CHECK(mutated(all[0], sources).size() == 3);
  REQUIRE(mutated(all[1], sources).size() == 1);
  CHECK(mutated(all[1], sources)[0].path == "common/ptx/b.cuh");
  CHECK(mutated(all[1], sources)[0].text.ends_with("z3\n"));
  REQUIRE(mutated(all[2], sources).size() == 1);
  CHECK(mutated(all[2], sources)[0].text.ends_with("z x2\n"));
}

TEST_CASE("mutants: the table adds up its stages") {
  const std::string table = mutants_table({{"v1", {5, 2, 1, 1, 1}}, {"v2", {3, 3, 0, 0, 0}}});
  CHECK(table.find("| v1 | 5 | 2 | 1 | 1 | 1 |\n") != table.npos);
  CHECK(table.ends_with("| all | 8 | 5 | 1 | 1 | 1 |\n"));
  CHECK(mutants_table({{"v1", {}}}).find("all") == std::string::npos);
}

TEST_CASE("mutants: there are enough, each changes a stage, and every stage has its share") {
  const auto all = all_mutations();
  std::vector<std::vector<Source>> stages;
  const Ladder ladder = read_ladder();
  for (const Stage* stage : ladder.all()) {
    const std::vector<Source>& sources = stages.emplace_back(sources_of(stage->dir));
    int here = 0;
    for (auto m = all.begin(); here < 30 && m != all.end(); ++m) here += !mutated(*m, sources).empty();
    CAPTURE(stage->dir);
    CHECK(here == 30);
  }
  const std::vector<std::string> dead = dead_rules(all, stages);
  CHECK_MESSAGE(dead.empty(), (dead.empty() ? "" : dead.front()));
}
