// The acceptance's cases in processes of their own: what comes back, and what is said of one that ends.
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <string>

#include "checks/acceptance/case_run.hpp"
#include "checks/runner/forked.hpp"

namespace {

using namespace lab;

TEST_CASE("forked jobs: what each printed, recorded and returned comes back, in whatever order it is asked for") {
  ForkedJobs jobs(12, [](std::size_t i) {
    std::printf("%s", std::string(i * 3000, char('a' + i)).c_str());
    record("number", std::to_string(i));
    return int(i);
  });
  for (std::size_t i = 12; i-- > 0;) {
    const Forked job = jobs.take(i);
    CHECK((job.status == int(i) && job.text == std::string(i * 3000, char('a' + i))));
    CHECK(job.verdict.first("number") == std::to_string(i));
  }
}

TEST_CASE("forked jobs: one that is killed says so, and takes no other along") {
  ForkedJobs jobs(4, [](std::size_t i) { return i == 2 ? raise(SIGKILL) : int(i); });
  for (const int i : {0, 1, 3}) CHECK(jobs.take(std::size_t(i)).status == i);
  CHECK(jobs.take(2).status == 128 + SIGKILL);
}

TEST_CASE("forked jobs: those that still run end with their owner") {
  {
    ForkedJobs jobs(2, [](std::size_t) { return pause(); });
  }
  CHECK(waitpid(-1, nullptr, WNOHANG) <= 0);
}

TEST_CASE("a case's result is the same after its way as text") {
  const Case test{Group::ragged, {3, 5, 65, 64, true}, Family::unit, 1, 0.5f};
  CaseResult r;
  r.problems = {{Evidence::failure, "one\ntwo"}, {Evidence::finding, "", true}};
  r.compared.compared = 3, r.compared.nans = 2, r.compared.max_diff = 1e-3, r.compared.worst_ratio = INFINITY;
  r.checked = 4, r.repeated = 5, r.total = 6;
  r.map = {"head 0", "#."}, r.skipped = true, r.note = "why", r.launches = 7;
  const CaseResult s = result_of(text_of(r), test);
  CHECK((s.test.shape == test.shape && text_of(r).find('\n') == std::string::npos));
  REQUIRE(s.problems.size() == 2);
  CHECK((s.problems[0].what == "one\ntwo" && s.problems[1].what == "" && s.problems[1].again));
  CHECK((s.compared.max_diff == 1e-3 && std::isinf(s.compared.worst_ratio) && s.compared.nans == 2));
  CHECK((s.compared.compared == 3 && s.checked == 4 && s.repeated == 5 && s.total == 6 && s.launches == 7));
  CHECK((s.map == r.map && s.skipped && s.note == "why" && s.hang == ""));
  CHECK_THROWS(result_of("1 2 3", test));
}

}  // namespace
