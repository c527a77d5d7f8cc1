// evolve-adopt from end to end, in a scratch tree: make, the labs and the benchmark are scripts with times made up.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include "checks/desk/evolve/evolve.hpp"
#include "checks/tests/scratch.hpp"

namespace {

using namespace lab;
using namespace lab::desk;
namespace fs = std::filesystem;

const std::string STAGE = "v3d_producer", SHAPE = "2,8,2048,64", LOG = "results/log.json";

// The scratch tree is the working directory as long as this lives, and standard output goes to a file in it.
class Tree : Scratch {
 public:
  Tree() : Scratch("adopt") {
    fs::create_directories(root / "stages");
    fs::copy("stages/" + STAGE, root / "stages" / STAGE, fs::copy_options::recursive);
    fs::current_path(root);
    script("build/desk-records",
           "mkdir -p build/bench results; touch $4; for s in '2,8,2048,64 60' '2,8,2048,128 50'; do set -- $s\n"
           "  new=$(grep -c . win); for p in v3d_producer v3d_producer-evolved; do us=$2\n"
           "    case $p$1 in *evolved$(cat where)*) us=$(cat win);; esac\n"
           "    printf 'case\\t%s\\t%s\\tok\\t\\nsample\\t%s\\t%s\\tgraph\\t1\\t%s\\n' $p $1 $p $1 $us\n"
           "  done; done > build/bench/001");
    script("make", "echo built >> makes; for w; do case $w in build/*/lab) mkdir -p ${w%/lab}; cp lab $w;; esac; done");
    accepts(0);
    wins("2,8,2048,64", "50");
    log("REGISTERS", "208");
    std::fflush(stdout);
    out_ = dup(1);
    const int file = open("out", O_CREAT | O_TRUNC | O_WRONLY | O_APPEND, 0600);
    dup2(file, 1), close(file);
  }
  ~Tree() {
    std::fflush(stdout);
    dup2(out_, 1), close(out_);
    fs::current_path(home_);
  }

  void accepts(int status) {
    script("lab", "case $1 in plan) echo '{\"kernel\": \"\"}';; test) exit " + std::to_string(status) + ";; esac");
  }
  void wins(const std::string& shape, const std::string& us) { write_text("where", shape), write_text("win", us); }
  // A search whose winner is the stage with one other value.
  void log(const std::string& lever, const std::string& value, const std::string& fitness = "time") {
    const Levers levers(STAGE);
    SearchLog log;
    log.stage = STAGE, log.shape = SHAPE, log.backend = "gpu", log.fitness = fitness;
    for (const double us : {60.0, 50.0}) {
      Candidate c;
      c.id = us == 60 ? "start" : "winner", c.levers = levers.rows({2, 8, 2048, 64, false})[0];
      if (us == 50) c.levers.at(lever) = value, c.parent = "start", c.changed = {lever};
      c.verdict = "elite", c.reason = "made up", c.right = true, c.us = {us};
      log.candidates.push_back(c);
    }
    write_text(LOG, log_json(log));
  }
  int adopt(const std::string& stage = STAGE, bool write = true) {
    Args args = {"./make", stage, LOG, "1", SHAPE + ";2,8,2048,128"};
    if (write) args.push_back("write");
    const int status = adopt_command(args);
    std::fflush(stdout);
    return status;
  }
  bool says(const std::string& piece) const { return has(read_text("out"), piece); }
  bool written() const {
    return read_text("stages/" + STAGE + "/kernel.cu") != read_text(home_ / "stages" / STAGE / "kernel.cu");
  }

 private:
  static void script(const std::string& path, const std::string& text) {
    write_text(path, "#!/bin/sh\n" + text + "\n");
    fs::permissions(path, fs::perms::owner_all);
  }
  fs::path home_ = fs::current_path();
  int out_ = 1;
};

}  // namespace

TEST_CASE("evolve-adopt: a winner that holds is written only where that is asked for") {
  Tree tree;
  CHECK(tree.adopt(STAGE, false) == 0);
  CHECK(tree.says("holds: 2,8,2048,64 gains 16.7 %"));
  CHECK_FALSE(tree.written());
  CHECK(tree.adopt() == 0);
  CHECK(has(read_text("stages/" + STAGE + "/kernel.cu"), "int REGISTERS = 208"));
  CHECK(fs::exists("results/log-adopt.json"));
}

TEST_CASE("evolve-adopt: who loses on another shape, or is red, is not written") {
  Tree tree;
  tree.wins("2,8,2048,128", "40");
  CHECK(tree.adopt() == 1);
  CHECK(tree.says("not adopted: 2,8,2048,64 gains 0.0 %"));
  tree.wins("2,8,2048", "55");  // both shapes, which take 60 and 50
  CHECK(tree.adopt() == 1);
  CHECK(tree.says("not adopted: 2,8,2048,128 is 10.0 % slower"));
  tree.wins("2,8,2048,64", "50"), tree.accepts(1);
  CHECK(tree.adopt() == 1);
  CHECK(tree.says("not adopted: its acceptance is red"));
  CHECK_FALSE(tree.written());
}

TEST_CASE("evolve-adopt: what does not fit the whole table is refused before it is built") {
  Tree tree;
  tree.log("REGISTERS", "160");
  CHECK(tree.adopt() == 1);
  CHECK(tree.says("not adopted: the table's <128, 2, 128, 3>: registers"));
  CHECK_FALSE(fs::exists("makes"));
}

TEST_CASE("evolve-adopt: a log of another stage, or of a model, is refused") {
  Tree tree;
  CHECK_THROWS_WITH_AS(tree.adopt("v3b_wgmma"), (LOG + " is of v3d_producer, not of v3b_wgmma").c_str(), BadInput);
  tree.log("REGISTERS", "208", "model");
  CHECK_THROWS_WITH_AS(tree.adopt(), (LOG + " holds a model's figures; only measured ones can be adopted").c_str(),
                       BadInput);
}
