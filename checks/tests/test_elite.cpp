// The search without compiler and clock: kept candidates, tried ones, the log, the output of programs.
#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>

#include "checks/search/elite.hpp"
#include "checks/tests/scratch.hpp"

namespace {
using namespace lab;
using namespace lab::search;

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

const std::string KERNEL = "a = 1; b = 1; c = 1;\nreturn few ? launch<64, 1>(args) : launch<64, 2>(args);\nx == y;\n";
const std::string CONF =
    "table: D T\ntunable T: t\n  values: 1 | 2\ntunable A: a\n  at: a = {1};\n  values: 1 | 2 | 3\n"
    "tunable E: b\n  at: b = {1};\n  values: 1 | 2 | 3\nmust A + E < 6: A and E are too much\n";
const Shape SHAPE{1, 1, 64, 64, false};

Elite start(const Tunables& tunables) {
  Elite elite;
  for (Proposal& p : beginnings(tunables, SHAPE, tunables.rows(SHAPE)[1])) {
    p.candidate.right = true, p.candidate.us = {10};
    elite.judge(p.candidate);
  }
  return elite;
}

TEST_CASE("evolve: a search begins with the stage as it is, then its table's other rows") {
  const Tunables tunables("v9z_test", CONF, KERNEL);
  const auto all = beginnings(tunables, SHAPE, tunables.rows(SHAPE)[1]);
  REQUIRE(all.size() == 2);
  CHECK(all[0].candidate.setting.at("T") == "2");
  CHECK(all[1].candidate.setting.at("T") == "1");
  CHECK(all[0].candidate.parent == "");
}

TEST_CASE("evolve: a child changes two tunables, nothing is tried twice, and the end is found") {
  const Tunables tunables("v9z_test", CONF, KERNEL);
  const Elite elite = start(tunables);
  std::set<std::string> known, seen;
  for (const Candidate& c : elite.members()) known.insert(c.id);
  int refused = 0, place = 0;
  while (const auto p = propose(tunables, SHAPE, elite, known, 7, 1, place++)) {
    const Candidate& c = p->candidate;
    CHECK(seen.insert(c.id).second);
    const auto parent = std::ranges::find(elite.members(), c.parent, &Candidate::id);
    REQUIRE(parent != elite.members().end());
    int differs = 0;
    for (const auto& [name, value] : c.setting) differs += parent->setting.at(name) != value;
    CHECK(differs == 2);
    if (c.setting.at("A") == "3" && c.setting.at("E") == "3") {
      ++refused;
      CHECK(c.verdict == "too large");
      CHECK(c.reason == "A and E are too much");
    } else {
      CHECK(c.verdict == "");
    }
  }
  // Of each of two parents 4 with other A and E, 2 with another T and A, 2 with another T and E.
  CHECK(seen.size() == 16);
  CHECK(refused == 2);
}

TEST_CASE("evolve: the same seed gives the same children") {
  const Tunables tunables("v9z_test", CONF, KERNEL);
  const Elite elite = start(tunables);
  const auto ids = [&](std::uint64_t seed) {
    std::set<std::string> known;
    std::string text;
    for (int place = 0; place < 5; ++place)
      text += propose(tunables, SHAPE, elite, known, seed, 3, place)->candidate.id;
    return text;
  };
  CHECK(ids(1) == ids(1));
  CHECK(ids(1) != ids(2));
}

std::vector<Candidate> sample() {
  std::vector<Candidate> all = {right("a", 10.5, ""), right("b", 9.25), right("w", 1)};
  for (Candidate& c : all) c.setting = {{"A", "1"}, {"B", "f(x, y)"}};
  all[1].us = {9.5, 9.25, 9.0}, all[1].setting["B"] = "g(x, y)", all[1].registers = 128, all[1].smem = 1000;
  all[1].again = 9.25, all[1].beside = 10.5;
  all[2].verdict = "wrong", all[2].right = false, all[2].us = {}, all[2].reason = "oracle: off";
  return all;
}

TEST_CASE("evolve: a log's row has the columns of the committed log, and the summary counts verdicts") {
  std::vector<Candidate> all = sample();
  Elite elite;
  for (Candidate& c : all) elite.judge(c);
  const std::string row = candidate_row(all[1], all[0].setting);
  CHECK(row == "b,0,p,elite,9.25,9.05,9.45,9.25,128,1000,there were fewer than three,\"B=g(x, y)\"");
  CHECK(candidate_row(all[2], all[0].setting) == "w,0,p,wrong,,,,,,,oracle: off,");
  std::ifstream committed("writeups/results/evolve.csv");
  std::string header;
  while (std::getline(committed, header) && header[0] == '#') {
  }
  CHECK(std::ranges::count(header, ',') == std::ranges::count(row, ',') - 1 + 7);  // a comma stands in quotes
  const std::string text = summary(all, elite, "us");
  CHECK(text.starts_with("3 candidates (2 elite, 1 wrong)"));
  CHECK(has(text, "elite b      9.250 us, 0.881 of the start; B=g(x, y)\n"));
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
  read_build_log(spills, ptxas("40"), true);
  CHECK(spills.verdict == "too large");
  CHECK(spills.reason == "spills 40 bytes; the lab allows none");
  read_build_log(lost, ptxas("0") + "ptxas info    : (C7510) Potential Performance Loss: wgmma\n", true);
  CHECK(lost.verdict == "broken");
  read_build_log(none, "x.cu(3): error: no such N\n", false);
  CHECK(none.verdict == "broken");
  CHECK(none.reason == "does not compile: x.cu(3): error: no such N");
}

TEST_CASE("evolve: what the validator says, and how it ends") {
  Candidate good, refused, launch, dead, slow;
  read_validation(good, "smem 1000\nkernel attention<64>\ncalls 4\nrows 10\nus 4.5 4.25 4.75\n", 0);
  CHECK(good.verdict == "");
  CHECK(good.right);
  CHECK(good.smem == 1000u);
  CHECK(good.time() == 4.5);
  read_validation(refused, "smem 1000\nrefused memory: written 3 elements past tensor o of call 1\n", 1);
  CHECK(refused.verdict == "wrong");
  CHECK_FALSE(refused.right);
  CHECK(refused.reason == "memory: written 3 elements past tensor o of call 1");
  read_validation(launch, "refused launch: cudaErrorInvalidValue\n", 1);
  CHECK(launch.verdict == "broken");
  read_validation(dead, "us 1 2 3\nlab: cudaMalloc: no\n", 1);
  CHECK(dead.verdict == "broken");
  CHECK(dead.reason == "ended with status 1: lab: cudaMalloc: no");
  CHECK(dead.us.empty());
  CHECK_FALSE(dead.right);
  read_validation(slow, "us 1\n", 124);
  CHECK(slow.reason == "did not end in time");
  CHECK(slow.us.empty());
}

}  // namespace
