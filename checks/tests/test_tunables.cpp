// Tunables: places in a kernel, constraints, and the source that is compiled.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>

#include "checks/search/tunables.hpp"
#include "checks/tests/scratch.hpp"
#include "common/conf.hpp"

namespace {
using namespace lab;
using namespace lab::search;

const std::string SEARCHED = R"(constexpr int Q = 2;
constexpr int EARLY = D == 64 ? N / 2 : N;
cudaError_t attention(const AttentionArgs& args) {
  if (args.shape.D == 64) return few ? launch<64, 1, 128>(args) : launch<64, 2, 64>(args);
  return launch<128, 1, 96>(args);
}
)";
const std::string CONF = R"(# a comment
table: D GROUPS N
tunable GROUPS: who multiplies
  values: 1 | 2 | 3
tunable N: keys
  values: 64 | 96 | 128
tunable Q: queries' slots
  at: constexpr int Q = {2};
  values: 1 | 2
tunable EARLY when D == 64: keys before the wait
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
  const Tunables tunables("v9z_test", CONF, SEARCHED);
  REQUIRE(tunables.rows(SHAPE).size() == 2);
  for (const Setting& row : tunables.rows(SHAPE)) {
    CHECK(tunables.objection(row, SHAPE) == "");
  }
  CHECK(tunables.for_shape(SHAPE).size() == 4);
  CHECK(tunables.for_shape({2, 8, 512, 128, false}).size() == 3);
}

TEST_CASE("evolve: values go where the braces are, and lines keep their numbers") {
  const Tunables tunables("v9z_test", CONF, SEARCHED);
  Setting setting = tunables.rows(SHAPE)[1];
  setting["Q"] = "1", setting["EARLY"] = "N", setting["N"] = "96";
  CHECK(tunables.source(setting, SHAPE) == R"(#line 1 "stages/v9z_test/kernel.cu"
constexpr int Q = 1;
constexpr int EARLY = D == 64 ? N : N;
cudaError_t attention(const AttentionArgs& args) {
  if (args.shape.D == 64) return few ? launch<64, 2, 96>(args) : launch<64, 2, 96>(args);
  return cudaErrorInvalidValue;
}
)");
  setting["GROUPS"] = "3";
  CHECK(has(tunables.source(setting, SHAPE), "launch<64, 3, 96>"));
}

TEST_CASE("evolve: what cannot be built is known before") {
  const Tunables tunables("v9z_test", CONF, SEARCHED);
  Setting setting = tunables.rows(SHAPE)[0];
  CHECK(tunables.number("smem", setting, SHAPE) == 356);
  CHECK(tunables.number("EARLY", setting, SHAPE) == 64);
  setting["GROUPS"] = "2";
  CHECK(tunables.objection(setting, SHAPE) == "too much memory");
  setting["Q"] = "1", setting["N"] = "96";
  CHECK(tunables.objection(setting, SHAPE) == "steps of 32");
  setting["EARLY"] = "1.0f / f(N)";  // no number, and a `must` asks for it
  CHECK_THROWS_AS(tunables.objection(setting, SHAPE), BadInput);
}

TEST_CASE("evolve: the row that a stage takes is in its plan") {
  const Tunables tunables("v9z_test", CONF, SEARCHED);
  CHECK(tunables.own(SHAPE, "kernel attention<64,2,64>\ntile_m 3\n").at("GROUPS") == "2");
  CHECK_THROWS_AS(tunables.own(SHAPE, "kernel attention<64,3,64>\n"), BadInput);
}

TEST_CASE("evolve: a malformed tunables.conf is one line") {
  const auto wrong = [](const std::string& from, const std::string& to, const std::string& what) {
    const std::string complaint = complaint_of([&] { Tunables("v9z_test", conf_with(from, to), SEARCHED); });
    CHECK(complaint.starts_with("stages/v9z_test/tunables.conf" + what));
  };
  wrong("Q = {2}", "Q = {3}", ": Q: 'constexpr int Q = 3;' must be in kernel.cu once");
  wrong("1 | 2\ntunable EARLY", "1 | 3\ntunable EARLY", ": Q: '2', which kernel.cu says, is not among its values");
  wrong("int Q = {2}", "int Q = 2", ": Q: no value in braces in 'constexpr int Q = 2;'");
  wrong("at: constexpr int Q = {2};", "at: constexpr {int}", ": Q: 'constexpr int' must be in kernel.cu once");
  wrong("tunable Q:", "tunable N:", ": N is there twice");
  wrong("must EARLY", "needs EARLY", ":15: 'needs EARLY % 32 == 0: steps of 32' means nothing; lines are");
  wrong("  values: 1 | 2 | 3\n", "", ": GROUPS has no two values");
  wrong("table: D GROUPS N", "table: D GROUPS", ": N must have at:, or be an argument of the table");
  wrong("  at: constexpr int Q = {2};\n", "", ": Q must have at:, or be an argument of the table");
  wrong("GROUPS * 100", "GROUP * 100", ": GROUP in 'GROUP * 100 + N * Q' is no name");
  CHECK(complaint_of([] {
          Tunables("v9z_test", conf_with("constexpr int Q = {2}", "slots: {2}"),
                   "int kept;  // of slots: 2;\n" + SEARCHED);
        }) == "stages/v9z_test/tunables.conf: Q: 'slots: 2;' is in a comment");
}

// Of each stage: the kernel's own values are allowed, each other value changes what is compiled, and the largest shared memory is the
// one that stage.conf declares.
TEST_CASE("evolve: every stage's tunables") {
  int stages = 0;
  for (const auto& entry : std::filesystem::directory_iterator("stages")) {
    const std::string stage = entry.path().filename();
    if (!std::filesystem::exists(entry.path() / "tunables.conf")) continue;
    ++stages;
    CAPTURE(stage);
    const Tunables tunables(stage);
    const std::string kernel = read_whole("stages/" + stage + "/kernel.cu");
    long largest = 0;
    for (const int D : {64, 128})
      for (const bool causal : {false, true}) {
        const Shape shape{1, 8, 512, D, causal};
        CHECK(tunables.for_shape(shape).size() >= 3);
        for (const Setting& row : tunables.rows(shape)) {
          const std::string source = tunables.source(row, shape);
          CHECK(tunables.objection(row, shape) == "");
          CHECK(std::ranges::count(source, '\n') == std::ranges::count(kernel, '\n') + 1);
          largest = std::max(largest, tunables.number("smem", row, shape));
          for (const Tunable* tunable : tunables.for_shape(shape))
            for (const std::string& value : tunable->values) {
              Setting other = row;
              if (other[tunable->name] == value) continue;
              other[tunable->name] = value;
              CHECK(tunables.source(other, shape) != source);
            }
        }
      }
    const std::string conf = "stages/" + stage + "/stage.conf";
    CHECK(std::to_string(largest) == parse_conf(read_whole(conf), conf)["smem"]);
  }
  CHECK(stages >= 11);
}

TEST_CASE("conf: quotes, bare values and comments; a wrong line is named") {
  const auto conf =
      parse_conf("# head\nidea=\"one = two # three\"  # behind\nregisters=48 # per thread\nempty=\"\"\n\n", "x");
  CHECK(conf.at("idea") == "one = two # three");
  CHECK(conf.at("registers") == "48");
  CHECK(conf.at("empty") == "");
  CHECK(conf.size() == 3);
  for (const char* text :
       {"a=\"1\"\nnonsense\n", "a=\"1\"\nb=\"open\n", "a=\"1\"\nb=\"x\" y\n", "a=1\na=2\n", "a=1\n=2\n"}) {
    CAPTURE(text);
    CHECK_THROWS_WITH_AS(parse_conf(text, "s.conf"), doctest::Contains("s.conf:2: "), BadInput);
  }
}

// The one patch among tunables; it names the lines of the kernel and its own.
TEST_CASE("evolve: a tunable that is a patch") {
  const Tunables tunables("v3j_shorter_loop");
  const Shape shape{1, 8, 512, 64, false};
  Setting setting = tunables.rows(shape)[0];
  CHECK(setting.at("POLYNOMIAL") == "0");
  setting["POLYNOMIAL"] = "1", setting["Q_SLOTS"] = "1";
  const std::string source = tunables.source(setting, shape);
  CHECK(source.starts_with("#line 1 \"stages/v3j_shorter_loop/kernel.cu\"\n"));
  CHECK(has(source, "\"stages/v3j_shorter_loop/tunables/POLYNOMIAL.patch\"\n"));
  CHECK(has(source, "constexpr int Q_SLOTS = 1;"));
}

}  // namespace
