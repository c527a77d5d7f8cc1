// Global memory within a block, and spins: what single kernels of test_by_hand_kernels.cpp must show.
#include <doctest/doctest.h>

#include <string>
#include <tuple>

#include "checks/tests/checked.hpp"
#include "checks/tests/instrumented.hpp"
#include "common/backend.hpp"

namespace lab::checked {
namespace {
using Kind = Finding::Kind;

bool contains(const std::string& text, const std::string& piece) { return text.find(piece) != text.npos; }

Done check(const char* name, const Size& size = {}, ExecOptions options = {}) {
  options.check = true;
  return run(kernel(name), size, options);
}

TEST_CASE("by hand: only writes of one value are called that" * instrumented()) {
  CHECK(check("all_write_seven").findings().at(0).same_value);
  CHECK_FALSE(check("all_write_their_own").findings().at(0).same_value);
}

TEST_CASE("by hand: an access between the multiples of its size is misaligned" * instrumented()) {
  const Done done = check("misaligned_int");
  CHECK(done.error == cudaErrorMisalignedAddress);
  CHECK_MESSAGE(contains(done.report.message, "misaligned address: write of 4 bytes at byte 1 of argument 2"),
                done.report.message);
  REQUIRE(done.findings().size() == 1);
  CHECK(done.findings()[0].kind == Kind::misaligned);
  CHECK(done.findings()[0].second.line == place_of(kernel("misaligned_int"), "write").line);
}

TEST_CASE("by hand: a spin that cannot end is a deadlock at its line" * instrumented()) {
  for (const auto& [name, mark, words] :
       {std::tuple("spins_on_flag", "poll", "which stays 0"), std::tuple("spins_on_lock", "lock", "which stays 1")})
    for (const Schedule schedule : SCHEDULES) {
      ExecOptions options;
      options.schedule = schedule, options.workers = 1;
      const Done done = check(name, {}, options);
      CAPTURE(done.text());
      CHECK(done.error == cudaErrorLaunchTimeout);
      REQUIRE(done.report.hang.deadlock);
      CHECK(contains(done.text(),
                     std::string("in a spin on element 0 of argument 2 (256 B, elements of 4 B), ") + words));
      for (const Wait& wait : done.report.hang.waits) {
        CHECK(wait.at == Wait::At::spin);
        CHECK(wait.line == place_of(kernel(name), mark).line);
      }
    }
}

TEST_CASE("by hand: a spin on plain memory ends by the time limit, again and again, at its line" * instrumented()) {
  const Case& c = kernel("spins_on_plain");
  for (int launch = 0; launch < 20; ++launch) {
    ExecOptions options;
    options.block_seconds = 0.02, options.workers = 1 + launch % 2;
    const Done done = check(c.name, {64, NO_SMEM, 2}, options);
    CAPTURE(done.text());
    CHECK(done.error == cudaErrorLaunchTimeout);
    CHECK(contains(done.report.message, "at " + place_of(c, "spin").text() + ": time limit"));
  }
}

}  // namespace
}  // namespace lab::checked
