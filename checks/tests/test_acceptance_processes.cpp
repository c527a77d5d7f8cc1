// The acceptance's cases in processes of their own: what comes back, and what is said of one that ends.
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

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
  r.test = test;
  r.problems = {{Evidence::failure, "one"}, {Evidence::finding, "", true}, {Evidence::numbers, "three"}};
  r.compared = {3, 1, 2, 0, 1e-3, 0.84, {}, SeenElement{2, 1, 2, 3, 4, 5.0f, 6.0, 7.0}};
  r.checked = 4, r.repeated = 5, r.total = 6;
  r.map = {"head 0", "#."}, r.skipped = true, r.note = "why", r.launches = 7, r.microseconds = 8.5;
  const CaseResult s = result_of(text_of(r), test);
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
  CHECK_FALSE(result_of(text_of(CaseResult{}), test).compared.worst);

  CHECK_THROWS(result_of(text_of(r).substr(2), test));
  CHECK_THROWS(result_of(text_of(r) + "00", test));
}

}  // namespace
