// Reports of instrumented kernels that depend on what the caller chooses, and the lines that they name. What each rule reports is
// checks/tests/plain's.
#include <sys/wait.h>
#include <unistd.h>

#include <set>

#include "checks/tests/test_counters_kernels.hpp"
#include "checks/tests/test_exec.hpp"
#include "common/emulator/addr2line.hpp"

namespace lab {
namespace {

Outcome checked(counters_kernels::Kernel* kernel, const Launch& launch) {
  float* out = nullptr;
  REQUIRE(cudaMalloc(&out, 96 * 8 * sizeof(float)) == cudaSuccess);
  Launch checked = launch;
  checked.options.check = true;
  const Outcome outcome = run(checked, [&] { kernel(out); });
  cudaFree(out);
  return outcome;
}

TEST_CASE("report: many races are one, for any number of workers; a sample of blocks has its own numbers" *
          instrumented()) {
  std::set<std::string> texts;
  for (ExecOptions options; options.workers <= 5; options.workers += 2) {
    const Outcome outcome = checked(counters_kernels::races_everywhere, {6, 96, 512, options});
    REQUIRE(outcome.report.findings.size() == 1);
    texts.insert(outcome.report.findings[0].text);
  }
  CHECK(texts.size() == 1);
  const Outcome outcome = checked(counters_kernels::races_everywhere, {8, 96, 512, {.blocks = {3, 6}}});
  REQUIRE(outcome.report.findings.size() == 1);
  CHECK(outcome.report.findings[0].block == 3u);
  CHECK(outcome.report.findings[0].count == 2 * 96u);
}

TEST_CASE("report: a spin on plain memory ends by the time limit, again and again, at its line" * instrumented()) {
  for (int launch = 0; launch < 8; ++launch) {
    ExecOptions options = in_order(Schedule::ascending, 1, 1 + launch % 2);
    options.block_seconds = 0.02;
    const Outcome outcome = checked(counters_kernels::spins_on_plain, {2, 64, 0, options});
    CHECK(outcome.finished == cudaErrorLaunchTimeout);
    CHECK(outcome.message().c_str() == doctest::Contains("time limit"));
    REQUIRE(outcome.report.findings.size() == 1);
    CHECK(outcome.report.findings[0].text.c_str() == doctest::Contains(": while (blockDim.x > 1 && out[0] == 0)"));
  }
}

// --- source lines of addresses, from an addr2line that goes on running ---------------------------

using cpu::ask_addr2line;

constexpr int MARKED = __LINE__ + 1;
void marked() {}

std::uintptr_t here() { return reinterpret_cast<std::uintptr_t>(&marked); }

bool is_marked(const std::vector<std::string>& frames) {
  return frames.size() == 1 && frames[0].ends_with("checks/tests/test_reports.cpp:" + std::to_string(MARKED));
}

TEST_CASE("addr2line: more addresses than are asked at once") {
  std::vector<std::uintptr_t> many(1203, 1);
  many[499] = many[500] = many[1202] = here();
  const auto found = ask_addr2line(many);
  for (std::size_t i = 0; i < many.size(); ++i) CHECK(is_marked(found[i]) == (many[i] != 1));
  CHECK(found[0] == std::vector<std::string>{"??:0"});
}

TEST_CASE("addr2line: a forked process has one of its own, and its parent's is as it was") {
  CHECK(is_marked(ask_addr2line({here()})[0]));
  const pid_t child = fork();
  REQUIRE(child >= 0);
  // Both ask at once: with one between them, each would read the other's answers.
  const auto always = [](const std::vector<std::uintptr_t>& pcs) {
    int right = 0;
    for (int i = 0; i < 300; ++i) right += is_marked(ask_addr2line(pcs).back());
    return right == 300;
  };
  if (child == 0) _exit(always({1, here()}) ? 0 : 1);
  CHECK(always({here()}));
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(is_marked(ask_addr2line({here()})[0]));
}

}  // namespace
}  // namespace lab
