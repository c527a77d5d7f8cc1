// The schedule in which key blocks add to dQ (common/backward/schedule.hpp): each pair once, one order of adding, and on
// paper nothing waits.
#include <doctest/doctest.h>

#include <set>
#include <vector>

#include "common/backward/schedule.hpp"

namespace {
using namespace lab;

constexpr int PLENTY = GRIDS * MOST_SCHEDULED;

bool meet(const Schedule& schedule, int j, int q) { return !schedule.causal || q >= j; }

// The slot of key block j's first pair: an upper key block follows the lower one that ends just before.
int start(const Schedule& schedule, int j) { return j < schedule.lower ? 0 : j + 1; }

}  // namespace

TEST_CASE("schedule: each key block meets each query block that sees it once, and their turns are 0, 1, 2, ...") {
  for (const bool causal : {false, true})
    for (const bool turns : {false, true})
      for (int n = 1; n <= 40; ++n) {
        CAPTURE(causal);
        CAPTURE(turns);
        CAPTURE(n);
        const Schedule schedule = schedule_of(n, 3, causal, turns, PLENTY);
        CHECK((schedule.lower > 0) == (turns && n <= MOST_SCHEDULED));
        std::vector<std::set<int>> seen(n), turns_of(n);
        for (int j = 0; j < n; ++j)
          for (int t = 0; t < (causal ? n - j : n); ++t) {
            const int q = schedule.query(j, t);
            REQUIRE((q >= 0 && q < n && meet(schedule, j, q)));
            CHECK(seen[j].insert(q).second);
            CHECK(turns_of[q].insert(schedule.before(j, q)).second);
          }
        for (int q = 0; q < n; ++q) {
          const int adders = causal ? q + 1 : n;
          CHECK(int(turns_of[q].size()) == adders);
          CHECK((*turns_of[q].begin() == 0 && *turns_of[q].rbegin() == adders - 1));
        }
      }
}

TEST_CASE(
    "schedule: no two key blocks are at a query block in the same slot, and each adds after those of earlier slots") {
  for (const bool causal : {false, true})
    for (int n = 1; n <= 40; ++n) {
      CAPTURE(causal);
      CAPTURE(n);
      const Schedule schedule{n, causal ? ceil_div(n, 2) : n, 1, causal};
      std::vector<std::vector<int>> in_order(n, std::vector<int>(n, -1));  // of a query block, slots by turn
      for (int j = 0; j < n; ++j)
        for (int t = 0; t < (causal ? n - j : n); ++t) {
          const int q = schedule.query(j, t);
          in_order[q][schedule.before(j, q)] = start(schedule, j) + t;
        }
      for (int q = 0; q < n; ++q)
        for (int turn = 1; turn < (causal ? q + 1 : n); ++turn) CHECK(in_order[q][turn] > in_order[q][turn - 1]);
    }
}

TEST_CASE("schedule: blocks start so that one that waits for another is among its head's lower ones or starts later") {
  for (const bool causal : {false, true})
    for (const bool turns : {false, true})
      for (const int n : {1, 2, 9, 10, 16, 17, 40})
        for (const int heads : {1, 3, 200}) {
          CAPTURE(causal);
          CAPTURE(turns);
          CAPTURE(n);
          CAPTURE(heads);
          const Schedule schedule = schedule_of(n, heads, causal, turns, PLENTY);
          std::vector<std::vector<int>> started(schedule.together, std::vector<int>(n, -1));
          for (int i = 0; i < n * schedule.together; ++i) {
            const auto [head, key] = schedule.block(i);
            REQUIRE((head >= 0 && head < schedule.together && key >= 0 && key < n));
            CHECK(started[head][key] == -1);
            started[head][key] = i;
          }
          for (const std::vector<int>& of : started)
            for (int j = 0; j < n; ++j)
              for (int q = causal ? j : 0; q < n; ++q)
                for (int other = 0; other < n; ++other)
                  if (meet(schedule, other, q) && schedule.before(other, q) < schedule.before(j, q))
                    CHECK((of[other] < of[j] || (other < schedule.lower && j < schedule.lower)));
          // The lower ones of a head start one right after the other.
          for (const std::vector<int>& of : started)
            for (int j = 1; j < schedule.lower; ++j) CHECK(of[j] == of[j - 1] + 1);
        }
}
