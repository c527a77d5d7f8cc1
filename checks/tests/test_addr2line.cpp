// Source lines of addresses, from an addr2line that goes on running.
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "common/emulator/addr2line.hpp"

namespace {
using lab::cpu::ask_addr2line;

constexpr int MARKED = __LINE__ + 1;
void marked() {}

std::uintptr_t here() { return reinterpret_cast<std::uintptr_t>(&marked); }

bool is_marked(const std::vector<std::string>& frames) {
  return frames.size() == 1 && frames[0].ends_with("checks/tests/test_addr2line.cpp:" + std::to_string(MARKED));
}

}  // namespace

TEST_CASE("addr2line: question after question, known or not, in the order of the addresses") {
  for (int turn = 0; turn < 3; ++turn) {
    const auto found = ask_addr2line({here(), 1, here()});
    REQUIRE(found.size() == 3);
    CHECK(is_marked(found[0]));
    CHECK(found[1] == std::vector<std::string>{"??:0"});
    CHECK(is_marked(found[2]));
  }
  CHECK(ask_addr2line({}).empty());
}

TEST_CASE("addr2line: more addresses than are asked at once") {
  std::vector<std::uintptr_t> many(1203, 1);
  many[499] = many[500] = many[1202] = here();
  const auto found = ask_addr2line(many);
  std::size_t marks = 0, unknown = 0;
  for (const auto& frames : found) (is_marked(frames) ? marks : unknown) += 1;
  CHECK(marks == 3);
  CHECK(unknown == 1200);
  CHECK(is_marked(found[499]));
  CHECK(is_marked(found[500]));
  CHECK(is_marked(found[1202]));
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

TEST_CASE("addr2line: where there is none, nothing is known, and nobody is kept waiting") {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    setenv("PATH", "/nowhere", 1);
    _exit(ask_addr2line({here(), 1}) == std::vector<std::vector<std::string>>(2) ? 0 : 1);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}
