// The elite loop's levers: expressions, places in a kernel, constraints, and what is compiled.
#include <doctest/doctest.h>

#include "checks/desk/evolve/evolve.hpp"
#include "checks/tests/scratch.hpp"

namespace {
using namespace lab;
using namespace lab::desk;

const std::string SEARCHED = R"(constexpr int Q = 2;
constexpr int EARLY = D == 64 ? N / 2 : N;
bool takes() { return shape.D == T::D && best == T::GROUPS; }
int stage() {
  return stage_of<Launcher<Tile<64, 1, 128>>, Launcher<Tile<64, 2, 64>>,
                  Launcher<Tile<128, 1, 96>>>();
}
)";
const std::string CONF = R"(# a comment
table: D GROUPS | N
takes: shape.D == T::D && {best == T::GROUPS};
lever GROUPS: who multiplies
  values: 1 | 2 | 3
lever N: keys
  values: 64 | 96 | 128
lever Q: queries' slots
  at: constexpr int Q = {2};
  values: 1 | 2
lever EARLY when D == 64: keys before the wait
  at: EARLY = D == 64 ? {N / 2} : N;
  values: 0 | N / 2 | N
let smem: GROUPS * 100 + N * Q
must smem <= 400: too much memory
must EARLY % 32 == 0: steps of 32
)";
const Shape SHAPE{2, 8, 512, 64, false};

std::string conf_with(const std::string& from, const std::string& to) {
  std::string conf = CONF;
  return conf.replace(conf.find(from), from.size(), to);
}

TEST_CASE("evolve: nothing speaks against the kernel's own values") {
  const Levers levers("v9z_test", CONF, SEARCHED, ".");
  REQUIRE(levers.rows(SHAPE).size() == 2);
  for (const Setting& row : levers.rows(SHAPE)) {
    CHECK(levers.objection(row, SHAPE) == "");
  }
  CHECK(levers.for_shape(SHAPE).size() == 4);
  CHECK(levers.for_shape({2, 8, 512, 128, false}).size() == 3);
}

TEST_CASE("evolve: values go where the braces are, and lines keep their numbers") {
  const Levers levers("v9z_test", CONF, SEARCHED, ".");
  Setting setting = levers.rows(SHAPE)[1];
  setting["Q"] = "1", setting["EARLY"] = "N", setting["N"] = "96";
  CHECK(levers.narrowed(setting, SHAPE) == R"(#line 1 "stages/v9z_test/kernel.cu"
constexpr int Q = 1;
constexpr int EARLY = D == 64 ? N : N;
bool takes() { return shape.D == T::D && true; }
int stage() {
  return 
stage_of<Launcher<Tile<64, 2, 96>>>();
}
)");
  setting["GROUPS"] = "3";
  CHECK(has(levers.narrowed(setting, SHAPE), "Tile<64, 3, 96>"));
}

TEST_CASE("evolve: what cannot be built is known before") {
  const Levers levers("v9z_test", CONF, SEARCHED, ".");
  Setting setting = levers.rows(SHAPE)[0];
  CHECK(levers.numbers(setting, SHAPE).at("smem") == 356);
  CHECK(levers.numbers(setting, SHAPE).at("EARLY") == 64);
  setting["GROUPS"] = "2";
  CHECK(levers.objection(setting, SHAPE) == "too much memory");
  setting["Q"] = "1", setting["N"] = "96";
  CHECK(levers.objection(setting, SHAPE) == "steps of 32");
  setting["N"] = "97";
  CHECK_THROWS_WITH_AS(levers.objection(setting, SHAPE), "v9z_test: N=97: must be one of 64, 96, 128", BadInput);
  setting.erase("N");
  CHECK_THROWS_AS(levers.objection(setting, SHAPE), BadInput);
}

TEST_CASE("evolve: the row that a stage takes is in its plan") {
  const Levers levers("v9z_test", CONF, SEARCHED, ".");
  CHECK(levers.own(SHAPE, "kernel attention<64,2,64>\ntile_m 3\n").at("GROUPS") == "2");
  CHECK_THROWS_AS(levers.own(SHAPE, "kernel attention<64,3,64>\n"), BadInput);
  const Levers by_plan("v9z_test", "row: plan_tile_m == GROUPS * 64\n" + CONF, SEARCHED, ".");
  CHECK(by_plan.own(SHAPE, "tile_m 128\n").at("GROUPS") == "2");
}

TEST_CASE("evolve: what is wrong with a levers.conf is one line") {
  const auto wrong = [](const std::string& from, const std::string& to, const std::string& what) {
    CHECK_THROWS_WITH_AS(Levers("v9z_test", conf_with(from, to), SEARCHED, "."),
                         ("stages/v9z_test/levers.conf" + what).c_str(), BadInput);
  };
  wrong("Q = {2}", "Q = {3}", ": lever Q: 'constexpr int Q = 3;' is not in kernel.cu");
  wrong("1 | 2\nlever EARLY", "1 | 3\nlever EARLY", ": lever Q: '2', which kernel.cu says, is not among its values");
  wrong("constexpr int Q = {2}", "constexpr int {", ": lever Q: no value in braces in 'constexpr int {;'");
  wrong("at: constexpr int Q = {2};", "at: constexpr {int}",
        ": lever Q: 'constexpr int' is in kernel.cu more than once");
  wrong("lever Q:", "lever N:", ":8: the lever N is there twice");
  wrong("must EARLY", "needs EARLY",
        ":16: 'needs EARLY % 32 == 0' means nothing; lines are table, takes, row, lever, "
        "patch, let, must");
  wrong("  values: 1 | 2 | 3\n", "", ": lever GROUPS has no two values");
  wrong("table: D GROUPS | N", "table: D GROUPS", ": table: has 2 arguments, a row of kernel.cu 3");
  wrong("takes: ", "takes: if ", ": takes: 'if shape.D == T::D && best == T::GROUPS;' is not in kernel.cu");
  CHECK_THROWS_WITH_AS(Levers("v9z_test", conf_with("constexpr int Q = {2}", "slots: {2}"),
                              "int kept;  // of slots: 2;\n" + SEARCHED, "."),
                       "stages/v9z_test/levers.conf: lever Q: 'slots: 2;' is in a comment", BadInput);
}

// A tree with one patch among a stage's levers.
struct PatchTree : Scratch {
  PatchTree(const std::string& name, const std::string& hunks) : Scratch("levers") {
    write("stages/v9z_test/levers/" + name + ".patch",
          "plants: another line\npredicted: none\n\n--- a/stages/v9z_test/kernel.cu\n"
          "+++ b/stages/v9z_test/kernel.cu\n" +
              hunks);
  }
};

TEST_CASE("evolve: a lever that is a patch") {
  const PatchTree tree("FAST",
                       "@@ -1,2 +1,3 @@\n constexpr int Q = 2;\n+constexpr int FAST = 1;\n"
                       " constexpr int EARLY = D == 64 ? N / 2 : N;\n");
  const Levers levers("v9z_test", CONF + "patch FAST: speed for nothing\n", SEARCHED, tree.root.string());
  Setting setting = levers.rows(SHAPE)[0];
  CHECK(setting.at("FAST") == "0");
  setting["FAST"] = "1", setting["Q"] = "1";
  CHECK(levers.narrowed(setting, SHAPE)
            .starts_with("#line 1 \"stages/v9z_test/kernel.cu\"\nconstexpr int Q = 1;\n"
                         "#line 8 \"stages/v9z_test/levers/FAST.patch\"\nconstexpr int FAST = 1;\n"
                         "#line 2 \"stages/v9z_test/kernel.cu\"\nconstexpr int EARLY = D == 64 ? N / 2 : N;\n"));
}

TEST_CASE("evolve: lines keep their numbers behind a patch that removes some") {
  const PatchTree tree("LESS",
                       "@@ -1,3 +1,2 @@\n constexpr int Q = 2;\n-constexpr int EARLY = D == 64 ? N / 2 : N;\n"
                       " bool takes() { return shape.D == T::D && best == T::GROUPS; }\n");
  std::string conf = CONF;
  conf.erase(conf.find("lever EARLY"), conf.find("let smem") - conf.find("lever EARLY"));
  conf.erase(conf.find("must EARLY"));
  const Levers levers("v9z_test", conf + "patch LESS: nothing for nothing\n", SEARCHED, tree.root.string());
  Setting setting = levers.rows(SHAPE)[0];
  setting["LESS"] = "1", setting["Q"] = "1";
  CHECK(levers.narrowed(setting, SHAPE)
            .starts_with("#line 1 \"stages/v9z_test/kernel.cu\"\nconstexpr int Q = 1;\n"
                         "#line 3 \"stages/v9z_test/kernel.cu\"\nbool takes() { return shape.D == T::D && true; }\n"
                         "int stage() {\n"));
}

// The levers of every stage that has some: they name what is in its kernel, whose own values are allowed and whose
// largest shared memory is the one that stage.conf declares.
TEST_CASE("evolve: every stage's levers") {
  int stages = 0;
  for (const Stage& stage : read_ladder().stages) {
    if (!std::filesystem::exists("stages/" + stage.dir + "/levers.conf")) continue;
    ++stages;
    CAPTURE(stage.dir);
    const Levers levers(stage.dir);
    long largest = 0;
    for (const int D : {64, 128})
      for (const bool causal : {false, true}) {
        const Shape shape{1, 8, 512, D, causal};
        CHECK(levers.for_shape(shape).size() >= 3);
        for (const Setting& row : levers.rows(shape)) {
          const std::string narrowed = levers.narrowed(row, shape);
          CHECK(levers.objection(row, shape) == "");
          CHECK(lines_of(narrowed).size() == lines_of(levers.kernel()).size() + 1);
          largest = std::max(largest, levers.numbers(row, shape).at("smem"));
          // Every lever of this shape changes what is compiled.
          for (const Lever* lever : levers.for_shape(shape))
            for (const std::string& value : lever->values) {
              Setting other = row;
              if (other[lever->name] == value) continue;
              other[lever->name] = value;
              CHECK(levers.narrowed(other, shape) != narrowed);
            }
        }
      }
    CHECK(std::to_string(largest) == stage.says("smem"));
  }
  CHECK(stages >= 11);
}

}  // namespace
