// Stages of the backward pass in the ladder: found by name, and in no list of the forward pass.
#include <doctest/doctest.h>

#include "checks/desk/learn/learn.hpp"
#include "checks/tests/scratch.hpp"

namespace {
using namespace lab;
using namespace lab::desk;

struct Tree : Scratch {
  Tree() : Scratch("backward-ladder") {
    write("stages/v1_one/stage.conf", "idea=\"one\"\nroad=\"main\"\n");
    write("stages/b1_first/stage.conf", "pass=\"backward\"\nsame_bits=\"yes\"\n");
    for (const std::string stage : {"b10_last", "b2_next"})
      write("stages/" + stage + "/stage.conf", "pass=\"backward\"\n");
  }
};

TEST_CASE("backward stages are a list of their own, in order, and every name finds them") {
  const Tree tree;
  const Ladder ladder = read_ladder(tree.root.string());
  REQUIRE(ladder.stages.size() == 1);
  CHECK(ladder.stages[0].dir == "v1_one");
  CHECK(ladder.main_road().size() == 1);
  REQUIRE(ladder.backward.size() == 3);
  CHECK(ladder.backward[0].dir == "b1_first");
  CHECK(ladder.backward[1].dir == "b2_next");
  CHECK(ladder.backward[2].dir == "b10_last");
  CHECK(ladder.all().size() == 4);
  REQUIRE(ladder.stage("b2"));
  CHECK(ladder.stage("b2")->is_backward());
  CHECK(ladder.stage("b1_first")->says("same_bits") == "yes");
  CHECK_FALSE(ladder.stage("v1")->is_backward());
  CHECK(ladder.bugs("b1").empty());
  CHECK_THROWS_WITH(ladder.bugs("b3"), doctest::Contains("b2"));
}

TEST_CASE("exercises of a backward stage are part of the course, and their rules may name a gradient") {
  const Tree tree;
  const auto written = [&](const std::string& stage, int n) {
    tree.write("stages/" + stage + "/exercises/one.exercise",
               "n: " + std::to_string(n) + "\nname: number-" + std::to_string(n) +
                   "\nkind: predict\nminutes: 5\nafter:\npredict: mask\nright: dk && row > 3\nnear: dk\n\n"
                   "task:\n  a\n\nhint:\n  a\n\nhint:\n  b\n\nhint:\n  c\n");
  };
  written("v1_one", 1), written("b2_next", 2);
  const Course course = read_course(tree.root.string());
  REQUIRE(course.all.size() == 2);
  CHECK_FALSE(course.find("1").backward);
  CHECK(course.find("2").backward);
  CHECK(course.find("2").stage == "b2_next");
  CHECK(has(card(course.find("2")), "dq dk dv, one of which is 1"));
  CHECK(!has(card(course.find("1")), "dq dk dv"));
}

}  // namespace
