// Bank conflicts by hand-countable cases.
#include <doctest/doctest.h>

#include "checks/pages/banks.hpp"

namespace {
using namespace lab::banks;

std::array<int, LANES> addresses(int stride) {
  std::array<int, LANES> a{};
  for (int lane = 0; lane < LANES; ++lane) a[lane] = stride * lane;
  return a;
}

TEST_CASE("banks: neighbours share a turn, and so do lanes that want one word") {
  CHECK(access(addresses(4), 4).turns == 1);
  CHECK(access(addresses(0), 4).turns == 1);
  CHECK(access(addresses(8), 8).turns == 2);
  CHECK(access(addresses(16), 16).turns == 4);
}

TEST_CASE("banks: a stride of 2^k words costs 2^k turns") {
  for (int words = 1; words <= 32; words *= 2) CHECK(access(addresses(4 * words), 4).turns == words);
  CHECK(access(addresses(4 * 33), 4).turns == 1);
}

TEST_CASE("banks: rows of 64 and 72 halves") {
  CHECK(down_a_column(64, 4).turns == 32);  // 128 bytes: every row starts in bank 0
  CHECK(down_a_column(72, 4).turns == 4);   // 144 bytes: every eighth row meets again
  CHECK(down_a_column(64, 16).turns == 32);
  CHECK(down_a_column(72, 16).turns == 4);  // as few as there can be
  CHECK(down_a_column(72, 16).least == 4);
  CHECK(down_a_column(72, 4).least == 1);
}

TEST_CASE("banks: who is served when") {
  const Access a = down_a_column(72, 4);
  for (int lane = 0; lane < LANES; ++lane) {
    CHECK(a.bank[lane] == 4 * lane % 32);
    CHECK(a.turn[lane] == lane / 8);
  }
}

}  // namespace
