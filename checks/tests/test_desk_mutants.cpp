// The rules of mistakes that nobody planted.
#include <doctest/doctest.h>

#include "checks/desk/desk.hpp"
#include "checks/desk/mutants.hpp"

using namespace lab;
using namespace lab::desk;

TEST_CASE("mutants: a rule changes every line where its text stands, or the one that it counts to") {
  const auto all = parse_mutations("# words\nevery: each b\n  /b(.)/c$1/\nsecond 2: the second b\n  /b/c/\n", "rules");
  REQUIRE(all.size() == 2);
  CHECK(all[0].what == "each b");
  CHECK(mutated(all[0], "b1\nab2b\nx\n") == "c1\nac2b\nx\n");
  CHECK(mutated(all[1], "b1\nab2b\nx\n") == "b1\nac2b\nx\n");
  CHECK(!mutated(all[0], "x\n"));
  CHECK(!mutated(all[1], "b\n"));
}

TEST_CASE("mutants: the first rule whose text stands counts; a slash is written \\/") {
  const auto all = parse_mutations("m: what\n  /x \\/ y/x * y/\n  /z/w/\n  equivalent v1: nobody reads it\n", "rules");
  CHECK(mutated(all[0], "x / y + z\n") == "x * y + z\n");
  CHECK(mutated(all[0], "z\n") == "w\n");
  CHECK(all[0].equivalent_in("v1_scalar") == "nobody reads it");
  CHECK(!all[0].equivalent_in("v2b_single_warp"));
  CHECK(parse_mutations("m: what\n  /z/w/\n  equivalent *: why\n", "rules")[0].equivalent_in("v3_x") == "why");
}

TEST_CASE("mutants: what is wrong with a file of rules is one line with its place") {
  CHECK_THROWS_WITH_AS(parse_mutations("  /a/b/\n", "rules"), "rules:1: a rule before the first name", BadInput);
  CHECK_THROWS_WITH_AS(parse_mutations("a: b\n  /a/b\n", "rules"), "rules:2: not /REGEX/REPLACEMENT/", BadInput);
  CHECK_THROWS_WITH_AS(parse_mutations("a: b\n  /(/b/\n", "rules"), "rules:2: '(' is no regular expression", BadInput);
  CHECK_THROWS_WITH_AS(parse_mutations("a: b\n", "rules"), "rules: a has no rule", BadInput);
  CHECK_THROWS_WITH_AS(parse_mutations("a: b\n  /a/b/\na: c\n", "rules"), "rules:3: a is there twice", BadInput);
}

TEST_CASE("mutants: there are enough, and each changes a kernel") {
  const auto all = parse_mutations(read_text("checks/mutants/mutants.txt"), "checks/mutants/mutants.txt");
  CHECK(all.size() >= 40);
  for (const Mutation& m : all) {
    CAPTURE(m.name);
    bool somewhere = false;
    for (const char* stage : {"v1_scalar", "v2b_single_warp", "v2c3_scalar_smem", "v2c5_wmma_qk", "v2c6_wmma_pv"})
      somewhere |= mutated(m, read_text(std::string("stages/") + stage + "/kernel.cu")).has_value();
    CHECK(somewhere);
  }
}
