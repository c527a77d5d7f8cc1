// Runs that are kept: taken again only where nothing has changed, and only when asked for.
#include <doctest/doctest.h>
#include <unistd.h>

#include "checks/desk/runs.hpp"
#include "checks/tests/scratch.hpp"

using namespace lab::desk;
namespace fs = std::filesystem;

namespace {

const std::string LAB = "build/cpu/v1_s/checked/lab";

// A tree with one stage, whose binary is a script that counts its runs; the working directory while it lives.
struct Tree : lab::Scratch {
  fs::path home = fs::current_path();
  Tree() : Scratch("kept") {
    fs::current_path(root);
    fs::create_directories("build/logs");
    write_text("stages/v1_s/kernel.cu", "kernel\n");
    write_text("stages/v1_s/bugs/ten.patch", "patch\n");
    script(LAB);
    setenv("LAB_KEPT", "use", 1);
  }
  ~Tree() {
    unsetenv("LAB_KEPT");
    fs::current_path(home);
  }
  // Its first argument is its exit status.
  void script(const std::string& path) const {
    write_text(path, "#!/bin/sh\necho run >> runs\necho said $*; echo so >&2; echo red=$* >> $LAB_VERDICT\nexit $1\n");
    fs::permissions(path, fs::perms::owner_all);
  }
  std::size_t runs() const { return fs::exists("runs") ? lines_of(read_text("runs")).size() : 0; }
};

}  // namespace

TEST_CASE("kept runs: the same binary with the same arguments is not run again") {
  const Tree tree;
  const LabRun first = run_lab({LAB, "0", "a/b"}), again = run_lab({LAB, "0", "a/b"});
  CHECK(first.out == "said 0 a/b\nso\n");
  CHECK(!first.reused);
  CHECK(again.reused);
  CHECK(again.out == first.out);
  CHECK((first.verdict.first("red") == "0 a/b" && again.verdict.first("red") == "0 a/b"));
  CHECK(again.status == 0);
  CHECK(tree.runs() == 1);
  CHECK(kept_runs() == 1);
  CHECK(!run_lab({LAB, "0", "a-b"}).reused);  // the same file name, another command
  CHECK(!run_lab({LAB, "1"}).reused);
  CHECK(run_lab({LAB, "1"}).status == 1);
  CHECK(tree.runs() == 3);
}

TEST_CASE("kept runs: without being asked, after a change, and after what is no verdict, it runs") {
  const Tree tree;
  SUBCASE("nobody asks") { unsetenv("LAB_KEPT"); }
  SUBCASE("somebody says no") { setenv("LAB_KEPT", "no", 1); }
  run_lab({LAB, "0"});
  if (!kept_runs_count()) {
    CHECK(!run_lab({LAB, "0"}).reused);
    CHECK(tree.runs() == 2);
    return;
  }
  SUBCASE("another binary") { tree.script(LAB); }
  SUBCASE("another kernel") { write_text("stages/v1_s/kernel.cu", "other\n"); }
  SUBCASE("another patch") { write_text("stages/v1_s/bugs/ten.patch", "other\n"); }
  SUBCASE("one patch more") { write_text("stages/v1_s/bugs/two.patch", ""); }
  CHECK(kept_runs() == 0);
  CHECK(!run_lab({LAB, "0"}).reused);
  for (const char* status : {"2", "3", "139"}) {
    run_lab({LAB, status});
    CHECK(!run_lab({LAB, status}).reused);
  }
}

TEST_CASE("kept runs: a GPU's binary always runs") {
  const Tree tree;
  const std::string gpu = "build/gpu/v1_s/fixed/lab";
  tree.script(gpu);
  run_lab({gpu, "0"});
  CHECK(!run_lab({gpu, "0"}).reused);
  CHECK(!fs::exists("build/gpu/v1_s/fixed/kept"));
}

TEST_CASE("work side by side: results in order, and the first exception after all is over") {
  std::vector<int> items;
  for (int i = 0; i < 20; ++i) items.push_back(i);
  std::vector<int> taken;
  side_by_side(
      items, [](int i) { return (usleep(useconds_t(1000 * (20 - i))), 10 * i); }, [&](int x) { taken.push_back(x); });
  REQUIRE(taken.size() == 20);
  for (int i = 0; i < 20; ++i) CHECK(taken[std::size_t(i)] == 10 * i);
  const auto fails = [](int i) { return i == 7 ? throw std::runtime_error("seven") : i; };
  taken.clear();
  CHECK_THROWS_WITH(side_by_side(items, fails, [&](int x) { taken.push_back(x); }), "seven");
  CHECK(taken.size() == 7);
}

TEST_CASE("work side by side: no more at a time than asked for") {
  const std::vector<int> items(12, 0);
  for (const int most : {1, 3}) {
    std::atomic<int> now{0}, largest{0};
    const auto count = [&](int) {
      const int running = ++now;
      for (int seen = largest; seen < running && !largest.compare_exchange_weak(seen, running);) {
      }
      usleep(3000);
      return --now;
    };
    side_by_side(std::size_t(most), items, count, [](int) {});
    CHECK(largest == most);
  }
}

TEST_CASE("builds that share a GPU run one at a time") {
  CHECK(at_once({"v1_s:ten=build/gpu/v1_s/bug-ten/lab=build/gpu/v1_s/fixed/lab"}) == std::min<std::size_t>(4, cores()));
  CHECK(at_once({"v1_s:ten=build/cpu/v1_s/bug-ten/lab=build/cpu/v1_s/fixed/lab"}) == cores());
  CHECK(at_once({}) == cores());
}
