// Source lines of addresses, from an addr2line that goes on running.
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

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
