// The unit binary: tests of the lab's own parts, without any stage.
#define DOCTEST_CONFIG_IMPLEMENT
// A fault inside a kernel is the CPU backend's to report, with block and lane
#define DOCTEST_CONFIG_NO_POSIX_SIGNALS
#include <doctest/doctest.h>

namespace {

unsigned ran = 0;

// doctest's own report, and below it the count by which make test adds up.
struct Counting : doctest::ConsoleReporter {
  using ConsoleReporter::ConsoleReporter;
  void test_case_start(const doctest::TestCaseData& test) override { ++ran, ConsoleReporter::test_case_start(test); }
  void test_run_end(const doctest::TestRunStats& all) override {
    ConsoleReporter::test_run_end(all);
    s << ran - all.numTestCasesFailed << " passed, " << all.numTestCasesFailed << " failed\n";
  }
};
REGISTER_REPORTER("counting", 1, Counting);

}  // namespace

// doctest's own options work here: `unit -tc='exec*'` runs the tests of that name.
int main(int argc, char** argv) {
  doctest::Context context(argc, argv);
  context.setOption("reporters", "counting");
  context.addFilter("source-file-exclude", "*/acceptance.cpp");  // a stage's test
  const int status = context.run();
  return context.shouldExit() || ran > 0 ? status : 1;  // no test case at all is no proof
}
