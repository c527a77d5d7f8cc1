// Other programs: how they end, what exit statuses mean together.
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "checks/bugs/reproduce.hpp"
#include "checks/desk/runs.hpp"
#include "checks/tests/scratch.hpp"

using namespace lab;
using namespace lab::desk;
namespace fs = std::filesystem;

namespace {

// Until the process is gone, for at most ten seconds.
bool gone(const std::string& pid_file) {
  const std::vector<std::string> lines = lines_of(read_text(pid_file));
  REQUIRE(lines.size() == 1);
  const pid_t pid = std::stoi(lines[0]);
  for (int i = 0; i < 500 && kill(pid, 0) == 0; ++i) usleep(20000);
  return kill(pid, 0) != 0;
}

// Until the file says which process hangs, for at most ten seconds.
void wait_for(const std::string& pid_file) {
  for (int i = 0; i < 1000; ++i) {
    if (std::filesystem::exists(pid_file) && !read_text(pid_file).empty()) break;
    usleep(10000);
  }
}

// A program that starts another, which hangs, says which, and waits for it.
Argv hanging(const std::string& pid_file) { return {"sh", "-c", "sleep 300 & echo $! > '" + pid_file + "'; wait"}; }

void ends_by(int signal, pid_t desk) {
  kill(desk, signal);
  int waited = 0;
  REQUIRE(waitpid(desk, &waited, 0) == desk);
  CHECK(WIFSIGNALED(waited));
  CHECK(WTERMSIG(waited) == signal);
}

}  // namespace

TEST_CASE("a program's status is what a shell would say, its output is in the log, its input is empty") {
  const lab::Scratch dir("runs");
  const std::string log = dir.path("log");
  CHECK(run({"sh", "-c", "echo out; echo err >&2; cat; exit 3"}, log).status == 3);
  CHECK(read_text(log) == "out\nerr\n");
  CHECK(run({"sh", "-c", "kill -9 $$"}, log).status == 128 + 9);
  CHECK(run_limited({"sh", "-c", "exit 5"}, log, 60).status == 5);
  // Of a shell's children too, and no waiting.
  CHECK(run_limited({"sh", "-c", "sh -c 'i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done'; true"}, log, 60)
            .core_seconds > 0.02);
  CHECK(run_limited({"sleep", "0.2"}, log, 60).core_seconds < 0.1);
  CHECK_THROWS_AS(run({"true"}, dir.path("log") + "/below"), lab::BadInput);
}

TEST_CASE("what hangs is stopped with all that it started") {
  const lab::Scratch dir("runs");
  const Stopwatch watch;
  const Ended ended = run_limited(hanging(dir.path("pid")), dir.path("log"), 1);
  CHECK(ended.timed_out);
  CHECK(ended.status == 124);
  CHECK(watch.seconds() < 60);
  CHECK(gone(dir.path("pid")));
}

TEST_CASE("asked to end, a program ends what it started and itself") {
  const lab::Scratch dir("runs");
  for (const int signal : {SIGINT, SIGTERM}) {
    CAPTURE(signal);
    std::filesystem::remove(dir.path("pid"));
    const pid_t desk = fork();
    if (desk == 0) {
      ::signal(signal, SIG_DFL);  // in a shell's background job SIGINT is ignored
      run_limited(hanging(dir.path("pid")), dir.path("log"), 250);
      _exit(0);
    }
    wait_for(dir.path("pid"));
    ends_by(signal, desk);
    CHECK(gone(dir.path("pid")));
  }
}

TEST_CASE("the total names what was skipped, if anything was; nothing at all is no success") {
  CHECK((Counts{1, 0}.status() == 0 && Counts{0, 0, 1}.status() == 0));
  CHECK((Counts{1, 1}.status() == 1 && Counts{}.status() == 1));
  CHECK(total_line({3, 1, 0}) == "3 passed, 1 failed");
  CHECK(total_line({3, 1, 2}) == "3 passed, 1 failed, 2 skipped");
}

TEST_CASE("a signature counts if it shows where it must and nowhere else") {
  CHECK(judge_signatures(0, 0) == Shown::yes);
  CHECK(judge_signatures(0, 3) == Shown::yes);
  CHECK(judge_signatures(3, 0) == Shown::hidden);
  CHECK(judge_signatures(3, 3) == Shown::hidden);
  CHECK(judge_signatures(3, 1) == Shown::no);
  CHECK(judge_signatures(0, 1) == Shown::no);
  CHECK(judge_signatures(1, 0) == Shown::no);
  CHECK(judge_signatures(2, 0) == Shown::no);
  CHECK(judge_signatures(127, 127) == Shown::no);
}

TEST_CASE("an acceptance must be red on a bug, green where the answers are right; a crash is neither") {
  CHECK(judge_acceptance(1, false, false, false) == Colour::as_it_must);
  CHECK(judge_acceptance(0, false, false, false) == Colour::wrong);
  CHECK(judge_acceptance(139, false, false, false) == Colour::wrong);
  CHECK(judge_acceptance(0, true, false, false) == Colour::as_it_must);
  CHECK(judge_acceptance(1, true, false, false) == Colour::wrong);
  CHECK(judge_acceptance(0, false, true, false) == Colour::hidden);
  CHECK(judge_acceptance(1, false, true, false) == Colour::as_it_must);
  CHECK(judge_acceptance(3, false, true, true) == Colour::skipped);
  CHECK(judge_acceptance(3, false, false, false) == Colour::wrong);
  CHECK(judge_acceptance(1, false, false, true) == Colour::as_it_must);
}

TEST_CASE("a bug that no answer shows leaves the acceptance green and the race check red") {
  CHECK(judge_unseen(0, 1) == Colour::as_it_must);
  CHECK(judge_unseen(0, 0) == Colour::wrong);
  CHECK(judge_unseen(1, 0) == Colour::wrong);
  CHECK(judge_unseen(1, 1) == Colour::wrong);
  CHECK(judge_unseen(0, 2) == Colour::wrong);
  CHECK(judge_unseen(0, 139) == Colour::wrong);
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

TEST_CASE("capture: output, errors, input and status of a program") {
  const Ran both = capture_sh("echo out; echo err >&2; exit 3");
  CHECK(both.status == 3);
  CHECK(both.out == "out\n");
  CHECK(both.err == "err\n");
  CHECK(capture({"cat"}, "to be read").out == "to be read");
  CHECK(capture({"printf", "%s", "one word"}).out == "one word");
  CHECK(capture_sh("kill -9 $$").status == 128 + 9);
  const Ran none = capture({"no-such-program-here"});
  CHECK(none.status == 127);
  CHECK(has(none.err, "no-such-program-here"));
  CHECK(first_line({"printf", "a\nb\n"}) == "a");
  CHECK(first_line({"false"}) == "");
  CHECK(capture_sh("head -c 300000 /dev/zero | tr '\\0' x").out.size() == 300000);
}
