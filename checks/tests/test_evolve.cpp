// The search without compiler and clock: tunables, kept candidates, what is tried, the log, the output of programs.
#include <doctest/doctest.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "checks/acceptance/whole_file.hpp"
#include "checks/search/elite.hpp"

namespace {
using namespace lab;
using namespace lab::search;

const Shape SHAPE{2, 8, 512, 64, false};
const std::string KERNEL = R"(constexpr int Q = 2;
constexpr int EARLY = D == 64 ? N / 2 : N;
if (args.shape.D == 64) return few ? launch<64, 1, 128>(args) : launch<64, 2, 64>(args);
return launch<128, 1, 96>(args);
)";
const std::string CONF = R"(# a comment
table: D GROUPS N
tunable GROUPS: groups that multiply
  values: 1 | 2 | 3
tunable N: keys
  values: 64 | 96 | 128
tunable Q: queries' slots
  at: constexpr int Q = {2};
  values: 1 | 2
tunable EARLY when D == 64: keys before the wait
  at: EARLY = D == 64 ? {N / 2} : N;
  values: 0 | N / 2 | N
)";

Setting with(Setting setting, const Setting& changes) {
  for (const auto& [name, value] : changes) setting[name] = value;
  return setting;
}

Candidate right(const std::string& id, double us, const std::string& parent = "p") {
  Candidate c;
  c.id = id, c.parent = parent, c.us = {us};
  return c;
}

Candidate judged(Elite& elite, Candidate c) {
  elite.judge(c);
  return c;
}

std::vector<std::string> ids(const std::vector<Candidate>& candidates) {
  std::vector<std::string> all;
  for (const Candidate& c : candidates) all.push_back(c.id);
  return all;
}

TEST_CASE("evolve: values go where the braces are") {
  const Tunables tunables("v9z_test", CONF, KERNEL);
  const Setting own = tunables.own(SHAPE, "kernel attention<64,2,64>\n");
  CHECK(own == Setting{{"GROUPS", "2"}, {"N", "64"}, {"Q", "2"}, {"EARLY", "N / 2"}});
  CHECK(tunables.source(with(own, {{"Q", "1"}, {"EARLY", "N"}, {"N", "96"}}), SHAPE) ==
        R"(#line 1 "stages/v9z_test/kernel.cu"
constexpr int Q = 1;
constexpr int EARLY = D == 64 ? N : N;
if (args.shape.D == 64) return few ? launch<64, 2, 96>(args) : launch<64, 2, 96>(args);
return cudaErrorInvalidValue;
)");
  CHECK_THROWS_AS(tunables.own(SHAPE, "kernel attention<64,3,64>\n"), BadInput);
  CHECK(tunables.rows(SHAPE).size() == 2);
  CHECK(tunables.for_shape(SHAPE).size() == 4);
  CHECK(tunables.for_shape({2, 8, 512, 128, false}).size() == 3);
}

TEST_CASE("evolve: a malformed tunables.conf is one line") {
  const struct {
    std::string old, fresh, said;
  } cases[] = {
      {"Q = {2}", "Q = {3}", ": Q: 'constexpr int Q = 3;' must be in kernel.cu once"},
      {"1 | 2\ntunable EARLY", "1 | 3\ntunable EARLY", ": Q: '2', which kernel.cu says, is not among its values"},
      {"int Q = {2}", "int Q = 2", ": Q: no value in braces in 'constexpr int Q = 2;'"},
      {"at: constexpr int Q = {2};", "at: constexpr {int}", ": Q: 'constexpr int' must be in kernel.cu once"},
      {"constexpr int Q = {2};", "kept of Q = {2};", ": Q: 'kept of Q = 2;' is in a comment"},
      {"tunable Q:", "tunable N:", ": N is there twice"},
      {"table: D", "must D: D", ": 'must D: D GROUPS N' means nothing; lines are"},
      {"  values: 1 | 2 | 3\n", "", ": GROUPS has no two values"},
      {"table: D GROUPS N", "table: D GROUPS", ": N must have at:, or be an argument of the table"},
      {"  at: constexpr int Q = {2};\n", "", ": Q must have at:, or be an argument of the table"},
      {"when D == 64", "when S == 64", ": EARLY: when S == 64: it is D == 64, D == 128 or causal"},
  };
  for (const auto& [old, fresh, said] : cases) {
    CAPTURE(said);
    std::string conf = CONF;
    conf.replace(conf.find(old), old.size(), fresh);
    CHECK_THROWS_WITH_AS(Tunables("v9z_test", conf, "// kept of Q = 2;\n" + KERNEL),
                         doctest::Contains(("stages/v9z_test/tunables.conf" + said).c_str()), BadInput);
  }
}

TEST_CASE("evolve: of every stage the kernel's own values are allowed, and each other value changes what is compiled") {
  int stages = 0;
  for (const auto& entry : std::filesystem::directory_iterator("stages")) {
    if (!std::filesystem::exists(entry.path() / "tunables.conf")) continue;
    ++stages;
    const Tunables tunables(entry.path().filename());
    const std::string kernel = read_whole(entry.path() / "kernel.cu");
    CAPTURE(tunables.stage());
    for (const int i : {0, 1, 2, 3}) {
      const Shape shape{2, 8, 512, i < 2 ? 64 : 128, i % 2 == 1};
      for (const Setting& setting : tunables.rows(shape)) {
        const std::string source = tunables.source(setting, shape);
        CHECK(std::ranges::count(source, '\n') == std::ranges::count(kernel, '\n') + 1);
        for (const Tunable* t : tunables.for_shape(shape))
          for (const std::string& value : t->values)
            if (value != setting.at(t->name))
              CHECK_MESSAGE(tunables.source(with(setting, {{t->name, value}}), shape) != source, t->name, "=", value);
      }
    }
  }
  CHECK(stages >= 7);
}

TEST_CASE("evolve: the three fastest that are right are kept") {
  Elite elite;
  for (const auto& [id, us] : {std::pair("a", 100.0), {"b", 90.0}, {"c", 110.0}, {"e", 106.0}})
    CHECK(judged(elite, right(id, us)).verdict == "elite");
  CHECK(judged(elite, right("f", 107)).verdict == "slower");
  Candidate wrong = right("w", 1);
  wrong.verdict = "wrong";
  CHECK(judged(elite, wrong).verdict == "wrong");
  CHECK(ids(elite.members) == std::vector<std::string>{"b", "a", "e"});
}

TEST_CASE("evolve: a child changes two tunables, and nothing is tried twice") {
  const Tunables tunables("v9z_test", R"(table: D T
tunable T: t
  values: 1 | 2
tunable A: A
  at: a = {1};
  values: 1 | 2 | 3
tunable E: E
  at: e = {1};
  values: 1 | 2 | 3
)",
                          "a = 1; e = 1;\nlaunch<64, 1>(args), launch<64, 2>(args)\n");
  Elite elite{beginnings(tunables, SHAPE, tunables.rows(SHAPE)[1])};
  REQUIRE(elite.members.size() == 2);
  CHECK(elite.members[0].setting.at("T") == "2");
  CHECK(elite.members[1].setting.at("T") == "1");
  std::set<std::string> known, seen;
  for (const Candidate& c : elite.members) known.insert(c.id);
  int children = 0;
  SplitMix64 any(7);
  while (const auto c = propose(tunables, SHAPE, elite, known, any)) {
    const Candidate& parent = *std::ranges::find(elite.members, c->parent, &Candidate::id);
    int changed = 0;
    for (const auto& [name, value] : parent.setting) changed += c->setting.at(name) != value;
    CHECK(changed == 2);
    seen.insert(c->id), ++children;
  }
  CHECK(seen.size() == std::size_t(children));
  // Of each of two parents 4 with other A and E, 2 with another T and A, 2 with another T and E.
  CHECK(children == 16);
  const auto tried = [&](std::uint64_t seed) {
    std::vector<Candidate> five;
    SplitMix64 random(seed);
    known.clear();
    while (five.size() < 5) five.push_back(*propose(tunables, SHAPE, elite, known, random));
    return ids(five);
  };
  CHECK(tried(1) == tried(1));
  CHECK(tried(1) != tried(2));
}

TEST_CASE("evolve: a row has the columns of the committed log") {
  Candidate a = right("a", 10.5, ""), b = right("b", 9.25);
  a.setting = {{"A", "1"}, {"B", "f(x)"}}, b.setting = {{"A", "1"}, {"B", "g(x, \"y\")"}};
  b.us = {9.5, 9.25, 9.0}, b.registers = 128, b.smem = 1000;
  Elite elite{{a}};
  elite.judge(b);
  CHECK(row(b, a.setting) == "b,p,elite,9.25,128,1000,,\"B=g(x, \"\"y\"\")\"");
  std::ifstream log("writeups/results/evolve.csv");
  std::string header = "#";
  while (header.starts_with("#") && std::getline(log, header)) {
  }
  CHECK(header == COLUMNS);
  a.verdict = "elite";
  const std::string text = summary({a, b}, elite, "us");
  CHECK(text.starts_with("2 candidates (2 elite)\n"));
  CHECK(text.find("  elite b      9.250 us, 0.881 of the start; B=g(x, \"y\")\n") != text.npos);
}

TEST_CASE("evolve: nvcc's log, and what the validator printed") {
  const std::string ptxas = " bytes spill stores, 0 bytes spill loads\nptxas info    : Used 128 registers\n";
  const auto built = [](const std::string& log, bool there = true) {
    Candidate c;
    read_build_log(c, log, there);
    CHECK(c.registers.value_or(0) == (there ? 128 : 0));
    return c.verdict + ": " + c.reason;
  };
  CHECK(built("0" + ptxas) == ": ");
  CHECK(built("40" + ptxas) == "too large: spills 40 bytes; the lab allows none");
  CHECK(built("0" + ptxas + "ptxas info: Potential Performance Loss: wgmma\n") ==
        "broken: ptxas: ptxas info: Potential Performance Loss: wgmma");
  CHECK(built("x.cu(3): error: no such N\n", false) == "broken: does not compile: x.cu(3): error: no such N");
  const auto validated = [](int status, const std::string& verdict, const std::string& text = "") {
    Candidate c;
    read_validation(c, {status, text, Verdict("smem=1000\n" + verdict)});
    CHECK(c.smem == 1000);
    CHECK(c.us == (status ? std::vector<double>{} : std::vector{4.5, 4.25, 4.75}));
    return c.verdict + ": " + c.reason;
  };
  CHECK(validated(0, "us= 4.5 4.25 4.75\n") == ": ");
  CHECK(validated(1, "refused=memory: written 3 elements\n") == "wrong: memory: written 3 elements");
  CHECK(validated(1, "refused=launch: cudaErrorInvalidValue\n") == "broken: launch: cudaErrorInvalidValue");
  CHECK(validated(1, "us=1 2\n", "lab: cudaMalloc: no") == "broken: ended with status 1: lab: cudaMalloc: no");
  CHECK(validated(128 + SIGALRM, "us=1\n") == "broken: did not end in time");
}

}  // namespace
