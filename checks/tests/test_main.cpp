// The unit binary: tests of the lab's own parts, without any stage.
#define DOCTEST_CONFIG_IMPLEMENT
// A fault inside a kernel is the CPU backend's to report, with block and lane
#define DOCTEST_CONFIG_NO_POSIX_SIGNALS
#include <doctest/doctest.h>

#include <cstdio>
#include <string>

#include "checks/acceptance/verdict.hpp"

namespace {

unsigned test_cases = 0, test_cases_failed = 0;
bool finished = false;

struct Count : doctest::IReporter {
  explicit Count(const doctest::ContextOptions&) {}
  void test_run_end(const doctest::TestRunStats& stats) override {
    test_cases_failed = stats.numTestCasesFailed;
    finished = true;
  }
  void report_query(const doctest::QueryData&) override {}
  void test_run_start() override {}
  // Counts the cases that ran: doctest's own number includes those that -f and -l leave out.
  void test_case_start(const doctest::TestCaseData& test) override { ++test_cases, name = test.m_name; }
  void test_case_reenter(const doctest::TestCaseData&) override {}
  void test_case_end(const doctest::CurrentTestCaseStats& stats) override {
    if (!stats.testCaseSuccess) lab::record("red", name);
  }
  void test_case_exception(const doctest::TestCaseException&) override {}
  void subcase_start(const doctest::SubcaseSignature&) override {}
  void subcase_end() override {}
  void log_assert(const doctest::AssertData&) override {}
  void log_message(const doctest::MessageData&) override {}
  void test_case_skipped(const doctest::TestCaseData&) override {}

  std::string name;  // of the case that runs
};
REGISTER_LISTENER("count", 1, Count);

}  // namespace

// doctest's own options work here: `unit -tc='exec*'` runs the tests of that name.
int main(int argc, char** argv) {
  doctest::Context context(argc, argv);
  context.addFilter("source-file-exclude", "*/acceptance.cpp");  // a stage's test
  const int status = context.run();
  if (!finished) return status;  // a query, such as --list-test-cases
  std::fflush(stdout);
  if (test_cases == 0) {
    std::fprintf(stderr, "unit: no test case has such a name\n");
    return 1;
  }
  std::printf("%u passed, %u failed\n", test_cases - test_cases_failed, test_cases_failed);
  return status;
}
