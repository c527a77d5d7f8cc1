// Stages of the backward pass in the ladder: found by name, and in no list of the forward pass.
#include <doctest/doctest.h>

#include "checks/desk/learn/learn.hpp"
#include "checks/tests/scratch.hpp"

namespace {
using namespace lab::desk;
namespace fs = std::filesystem;

struct Tree {
  std::string root = lab::scratch_path("backward-ladder");
  Tree() {
    write_text(root + "/stages/v1_one/stage.conf", "idea=\"one\"\nroad=\"main\"\n");
    write_text(root + "/stages/b1_first/stage.conf", "pass=\"backward\"\nsame_bits=\"yes\"\n");
    write_text(root + "/stages/b10_last/stage.conf", "pass=\"backward\"\n");
    write_text(root + "/stages/b2_next/stage.conf", "pass=\"backward\"\n");
  }
  ~Tree() { fs::remove_all(root); }
};

TEST_CASE("backward stages are a list of their own, in order, and every name finds them") {
  const Tree tree;
  const Ladder ladder = read_ladder(tree.root);
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
    write_text(tree.root + "/stages/" + stage + "/exercises/one.exercise",
               "n: " + std::to_string(n) + "\nname: number-" + std::to_string(n) +
                   "\nkind: predict\nminutes: 5\nafter:\npredict: mask\nright: dk && row > 3\nnear: dk\n\n"
                   "task:\n  a\n\nhint:\n  a\n\nhint:\n  b\n\nhint:\n  c\n");
  };
  written("v1_one", 1), written("b2_next", 2);
  const Course course = read_course(tree.root);
  REQUIRE(course.all.size() == 2);
  CHECK_FALSE(course.find("1").backward);
  CHECK(course.find("2").backward);
  CHECK(course.find("2").stage == "b2_next");
  CHECK(card(course.find("2")).find("dq dk dv, one of which is 1") != std::string::npos);
  CHECK(card(course.find("1")).find("dq dk dv") == std::string::npos);
}

}  // namespace
