// The acceptance's cases in processes of their own: what comes back, and what is said of one that ends.
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "checks/acceptance/case_run.hpp"
#include "checks/acceptance/processes.hpp"

namespace {

using namespace lab;

bool never(std::size_t) { return false; }

TEST_CASE("processes: every answer comes back, in whatever order it is asked for") {
  const auto job = [](std::size_t i) { return std::string(i * 3000, char('a' + i)); };  // the last ones fill a pipe
  Processes processes(30, 3, job, never);
  for (std::size_t i = 30; i-- > 0;) CHECK(processes.take(i) == job(i));
}

TEST_CASE("processes: jobs that belong together run in one process, the others in several") {
  const auto who = [](std::size_t) {
    usleep(20000);
    return std::to_string(getpid());
  };
  Processes processes(6, 2, who, [](std::size_t i) { return i % 3 != 0; });
  std::string pids[6];
  for (std::size_t i = 0; i < 6; ++i) pids[i] = processes.take(i);
  CHECK((pids[0] == pids[1] && pids[1] == pids[2]));
  CHECK((pids[3] == pids[4] && pids[4] == pids[5]));
  CHECK(pids[0] != pids[3]);
  CHECK(pids[0] != std::to_string(getpid()));
}

TEST_CASE("processes: one that ends takes its job along and no other's answer") {
  const auto job = [](std::size_t i) {
    if (i == 2) raise(SIGKILL);
    if (i == 5) _exit(7);
    return std::to_string(i);
  };
  Processes processes(8, 4, job, never);
  for (const std::size_t i : {0, 1, 3, 4, 6, 7}) CHECK(processes.take(i) == std::to_string(i));
  const auto status_of = [&](std::size_t i) {
    try {
      processes.take(i);
    } catch (const ProcessDied& died) {
      return died.status;
    }
    return 0;
  };
  const int killed = status_of(2), left = status_of(5);
  CHECK((WIFSIGNALED(killed) && WTERMSIG(killed) == SIGKILL));
  CHECK((WIFEXITED(left) && WEXITSTATUS(left) == 7));
}

TEST_CASE("processes: with none left, what was never begun is not waited for") {
  Processes processes(
      4, 1, [](std::size_t) -> std::string { _exit(3); }, never);
  for (std::size_t i = 0; i < 4; ++i) CHECK_THROWS_AS(processes.take(i), ProcessDied);
}

TEST_CASE("processes: those that still run end with their owner") {
  {
    Processes processes(
        2, 2, [](std::size_t) -> std::string { pause(), std::abort(); }, never);
  }
  CHECK(waitpid(-1, nullptr, WNOHANG) <= 0);
}

TEST_CASE("a case's result is the same after its way through bytes") {
  const Case test{Group::ragged, {3, 5, 65, 64, true}, Family::unit, 1, 0.5f};
  CaseResult r;
  r.test = test;
  r.problems = {{Evidence::failure, "one"}, {Evidence::finding, "", true}, {Evidence::numbers, "three"}};
  r.compared = {3, 1, 2, 0, 1e-3, 0.84, {}, SeenElement{2, 1, 2, 3, 4, 5.0f, 6.0, 7.0}};
  r.checked = 4, r.repeated = 5, r.total = 6;
  r.map = {"head 0", "#."}, r.skipped = true, r.note = "why", r.launches = 7, r.microseconds = 8.5;
  const CaseResult s = result_of(bytes_of(r), test);
  CHECK(s.test.shape == test.shape);
  REQUIRE(s.problems.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK((s.problems[i].evidence == r.problems[i].evidence && s.problems[i].what == r.problems[i].what));
    CHECK(s.problems[i].again == r.problems[i].again);
  }
  CHECK((s.compared.max_diff == 1e-3 && s.compared.worst_ratio == 0.84 && !s.compared.first));
  REQUIRE(s.compared.worst);
  const SeenElement& worst = *s.compared.worst;
  CHECK((worst.output == 2 && worst.b == 1 && worst.h == 2 && worst.row == 3 && worst.col == 4 && worst.got == 5.0f));
  CHECK((worst.expected == 6.0 && worst.allowed == 7.0));
  CHECK((s.compared.outside == 1 && s.compared.nans == 2 && s.compared.compared == 3));
  CHECK((s.checked == 4 && s.repeated == 5 && s.total == 6));
  CHECK((s.map == r.map && s.skipped && s.note == "why" && s.launches == 7 && s.microseconds == 8.5));
  CHECK_FALSE(result_of(bytes_of(CaseResult{}), test).compared.worst);

  CHECK_THROWS(result_of(bytes_of(r).substr(1), test));
  CHECK_THROWS(result_of(bytes_of(r) + "x", test));
}

}  // namespace
