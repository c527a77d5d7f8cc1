// The elite loop without compiler and clock: kept candidates, tried ones, the log, the programs' output.
#include <doctest/doctest.h>

#include <cmath>

#include "checks/desk/evolve/evolve.hpp"
#include "checks/tests/scratch.hpp"

namespace {
using namespace lab;
using namespace lab::desk;

Candidate right(const std::string& id, double us, const std::string& parent = "p") {
  Candidate c;
  c.id = id, c.parent = parent, c.right = true, c.us = {us};
  return c;
}

TEST_CASE("evolve: three are kept, and a child must be 3 % faster than the one that leaves") {
  Elite elite;
  for (const auto& [id, us] : {std::pair("a", 100.0), std::pair("b", 90.0), std::pair("c", 110.0)}) {
    Candidate c = right(id, us);
    elite.judge(c);
    CHECK(c.verdict == "elite");
  }
  CHECK(elite.members()[0].id == "b");
  CHECK(elite.members()[2].id == "c");
  Candidate d = right("d", 107);
  CHECK(elite.would_replace(d) == nullptr);
  elite.judge(d);
  CHECK(d.verdict == "slower");
  CHECK(d.reason == "2.7 % faster than the third, c, and 3 % are asked for");
  Candidate e = right("e", 106);
  REQUIRE(elite.would_replace(e));
  CHECK(elite.would_replace(e)->id == "c");
  elite.judge(e);
  CHECK(e.verdict == "elite");
  CHECK(elite.members()[2].id == "e");
  Candidate f = right("f", 200);
  elite.judge(f);
  CHECK(f.reason == "88.7 % slower than the third, e");
}

TEST_CASE("evolve: who is wrong never enters, however fast; nor who does not hold when measured in turns") {
  Elite elite;
  Candidate wrong = right("w", 1);
  wrong.right = false, wrong.verdict = "wrong";
  elite.judge(wrong);
  Candidate unknown;
  unknown.us = {1};  // not judged
  elite.judge(unknown);
  CHECK(unknown.verdict == "wrong");
  CHECK(elite.members().empty());
  for (const char* id : {"a", "b", "c"}) {
    Candidate c = right(id, 100);
    elite.judge(c);
  }
  Candidate lucky = right("l", 90);
  lucky.again = 99, lucky.beside = 100;
  elite.judge(lucky);
  CHECK(lucky.verdict == "slower");
  CHECK(lucky.reason == "measured again in turns with c: 1.0 % faster, not 3 %");
  Candidate good = right("g", 90);
  good.again = 91, good.beside = 100;
  elite.judge(good);
  CHECK(good.verdict == "elite");
}

const std::string WITH_LEVERS =
    "a = 1; b = 1; c = 1;\nreturn stage_of<Launcher<Tile<64, 1>>, Launcher<Tile<64, 2>>>();\nx == y;\n";
const std::string CONF =
    "table: D T\ntakes: {x == y};\nlever T: t\n  values: 1 | 2\nlever A: a\n  at: a = {1};\n  values: 1 | 2 | 3\n"
    "lever B: b\n  at: b = {1};\n  values: 1 | 2 | 3\nmust A + B < 6: A and B are too much\n";
const Shape SHAPE{1, 1, 64, 64, false};

Elite start(const Levers& levers) {
  Elite elite;
  for (Proposal& p : beginnings(levers, SHAPE, levers.rows(SHAPE)[1])) {
    p.candidate.right = true, p.candidate.us = {10};
    elite.judge(p.candidate);
  }
  return elite;
}

TEST_CASE("evolve: a search begins with the stage as it is, then its table's other rows") {
  const Levers levers("v9z_test", CONF, WITH_LEVERS, ".");
  const auto all = beginnings(levers, SHAPE, levers.rows(SHAPE)[1]);
  REQUIRE(all.size() == 2);
  CHECK(all[0].candidate.levers.at("T") == "2");
  CHECK(all[1].candidate.levers.at("T") == "1");
  CHECK(all[0].candidate.parent == "");
}

TEST_CASE("evolve: a child changes two levers, nothing is tried twice, and the end is found") {
  const Levers levers("v9z_test", CONF, WITH_LEVERS, ".");
  const Elite elite = start(levers);
  std::set<std::string> known, seen;
  for (const Candidate& c : elite.members()) known.insert(c.id);
  int refused = 0, place = 0;
  while (const auto p = propose(levers, SHAPE, elite, known, 7, 1, place++)) {
    const Candidate& c = p->candidate;
    CHECK(seen.insert(c.id).second);
    REQUIRE(c.changed.size() == 2);
    const auto parent = std::ranges::find(elite.members(), c.parent, &Candidate::id);
    REQUIRE(parent != elite.members().end());
    int differs = 0;
    for (const auto& [name, value] : c.levers) differs += parent->levers.at(name) != value;
    CHECK(differs == 2);
    if (c.levers.at("A") == "3" && c.levers.at("B") == "3") {
      ++refused;
      CHECK(c.verdict == "too large");
      CHECK(c.reason == "A and B are too much");
    } else {
      CHECK(c.verdict == "");
    }
  }
  // Of each of two parents 4 with other A and B, 2 with another T and A, 2 with another T and B.
  CHECK(seen.size() == 16);
  CHECK(refused == 2);
}

TEST_CASE("evolve: the same seed gives the same children") {
  const Levers levers("v9z_test", CONF, WITH_LEVERS, ".");
  const Elite elite = start(levers);
  const auto ids = [&](std::uint64_t seed) {
    std::set<std::string> known;
    std::string text;
    for (int place = 0; place < 5; ++place) text += propose(levers, SHAPE, elite, known, seed, 3, place)->candidate.id;
    return text;
  };
  CHECK(ids(1) == ids(1));
  CHECK(ids(1) != ids(2));
}

std::vector<Candidate> sample() {
  std::vector<Candidate> all = {right("a", 10.5, ""), right("b", 9.25), right("w", 1)};
  for (Candidate& c : all) c.levers = {{"A", "1"}, {"B", "f(x, y)"}};
  all[1].us = {9.5, 9.25, 9.0}, all[1].levers["B"] = "g(x, y)", all[1].registers = 128, all[1].smem = 1000;
  all[1].again = 9.25, all[1].beside = 10.5;
  all[2].verdict = "wrong", all[2].right = false, all[2].us = {}, all[2].reason = "oracle: off";
  return all;
}

TEST_CASE("evolve: a log's row is read back as it was, and has the columns of the committed log") {
  std::vector<Candidate> all = sample();
  Elite elite, again;
  for (Candidate& c : all) elite.judge(c);
  const Setting start = all[0].levers;
  const std::string row = candidate_row(all[1], start);
  CHECK(row == "b,0,p,elite,9.25,9.05,9.45,9.25,128,1000,there were fewer than three,\"B=g(x, y)\"");
  const std::vector<std::string> committed = lines_of(read_text("writeups/results/evolve.csv"));
  const auto header = std::ranges::find_if(committed, [](const std::string& line) { return line[0] != '#'; });
  CHECK(csv_fields(*header).size() == csv_fields(row).size() + 7);
  for (const Candidate& c : all) {
    Candidate back;
    back.id = c.id, back.levers = c.levers, back.parent = c.parent;
    read_row(back, candidate_row(c, start), "x.csv");
    again.judge(back);
    CHECK(candidate_row(back, start).substr(0, 12) == candidate_row(c, start).substr(0, 12));
    CHECK(back.time() == c.time());
    CHECK(back.smem == c.smem);
  }
  REQUIRE(again.members().size() == 2);
  CHECK(again.members()[0].id == "b");
  const std::string text = summary(all, elite, true);
  CHECK(text.starts_with("3 candidates (2 elite, 1 wrong)"));
  CHECK(has(text, "elite b      9.250 us, 0.881 of the start; B=g(x, y)\n"));
  CHECK(has(summary(all, elite, false), "us by the model, not measured"));
}

TEST_CASE("evolve: what is no row of a log is refused") {
  for (const char* row : {"", "a,b", "a,0,p,fine,1,1,1,,,,why,", "b,0,p,elite,1,1,1,,,,why,"}) {
    Candidate c;
    c.id = "a";
    CHECK_THROWS_AS(read_row(c, row, "x.csv"), BadInput);
  }
}

std::string ptxas(const std::string& spills) {
  return "ptxas info    : Compiling entry function '_Z9attentionILi64EEvv' for 'sm_90a'\n"
         "ptxas info    : Function properties for _Z9attentionILi64EEvv\n"
         "    0 bytes stack frame, " +
         spills +
         " bytes spill stores, 0 bytes spill loads\n"
         "ptxas info    : Used 128 registers, used 1 barriers\n";
}

TEST_CASE("evolve: nvcc's log says what a candidate takes, and why it is none") {
  Candidate good, spills, lost, none;
  read_build_log(good, ptxas("0"), true);
  CHECK(good.verdict == "");
  CHECK(good.registers == 128);
  CHECK(good.spills == 0u);
  read_build_log(spills, ptxas("40"), true);
  CHECK(spills.verdict == "too large");
  CHECK(spills.reason == "spills 40 bytes; the lab allows none");
  read_build_log(lost, ptxas("0") + "ptxas info    : (C7510) Potential Performance Loss: wgmma\n", true);
  CHECK(lost.verdict == "broken");
  read_build_log(none, "x.cu(3): error: no such N\n", false);
  CHECK(none.verdict == "broken");
  CHECK(none.reason == "does not compile: x.cu(3): error: no such N");
}

TEST_CASE("evolve: the referee's word is taken as it is") {
  Candidate good, refused, launch, dead, slow;
  read_judge(good, "smem 1000\nkernel attention<64>\ncalls 4\nrows 10\nus 4.5 4.25 4.75\n", 0, false);
  CHECK(good.verdict == "");
  CHECK(good.right == true);
  CHECK(good.smem == 1000u);
  CHECK(good.time() == 4.5);
  read_judge(refused, "smem 1000\nrefused canaries: written 3 elements past tensor o of call 1\n", 1, false);
  CHECK(refused.verdict == "wrong");
  CHECK(refused.right == false);
  CHECK(refused.reason == "canaries: written 3 elements past tensor o of call 1");
  read_judge(launch, "refused launch: cudaErrorInvalidValue\n", 1, false);
  CHECK(launch.verdict == "broken");
  read_judge(dead, "us 1 2 3\nlab: cudaMalloc: no\n", 1, false);
  CHECK(dead.verdict == "broken");
  CHECK(dead.us.empty());
  CHECK_FALSE(dead.right);
  read_judge(slow, "us 1\n", 137, true);
  CHECK(slow.reason == "did not end in time");
  CHECK(slow.us.empty());
}

TEST_CASE("evolve: a cheater must be caught by a safeguard that was named before") {
  Candidate c;
  CHECK_FALSE(caught_as_predicted(c, "oracle"));  // it passed
  c.verdict = "wrong", c.reason = "every timed call is checked: head 1 row 2";
  CHECK(caught_as_predicted(c, "oracle, every timed call is checked or determinism"));
  CHECK(caught_as_predicted(c, "every timed call is checked"));
  CHECK_FALSE(caught_as_predicted(c, "oracle or call is checked"));
  c.verdict = "broken", c.reason = "does not build";
  CHECK_FALSE(caught_as_predicted(c, "does not build"));
}

}  // namespace
