// A kernel that never ends is stopped, and the report says where its lanes stand.
#include <chrono>
#include <numeric>
#include <vector>

#include "checks/tests/test_exec.hpp"

using namespace lab;

namespace {
ExecOptions soon(int workers = 1) {
  ExecOptions options;
  options.workers = workers, options.block_seconds = 0.2;
  return options;
}
volatile bool never = false;
}  // namespace

TEST_CASE("time limit: a lane that spins alone is named, and so is who waits for it") {
  int line = 0;
  const Outcome outcome = run({1, 64, 0, soon()}, [&] {
    line = __LINE__ + 1;
    while (threadIdx.x == 33 && !never) {
    }
    __syncwarp();
  });
  check_failed(outcome, cudaErrorLaunchTimeout, Finding::Kind::time_limit,
               "warp 1 lane 1" + at_line(line) + "time limit: ",
               "comes to no barrier. Warp 1 lane 0 waits in __syncwarp for lanes 1..31");
}

TEST_CASE("time limit: no line of a library is named") {
  const Outcome outcome = run({1, 32, 0, soon()}, [] {
    std::vector<int> many(100000, 1);
    while (std::accumulate(many.begin(), many.end(), 0) && !never) {
    }
  });
  CHECK(outcome.finished == cudaErrorLaunchTimeout);
  CHECK_CONTAINS(outcome.message(), "time limit: ");
  CHECK_MESSAGE(!contains(outcome.message(), "/usr/"), outcome.message());
}

TEST_CASE("time limit: each block has its own, and the next launch starts fresh") {
  const auto busy = [] {
    const auto begin = std::chrono::steady_clock::now();
    while (threadIdx.x == 0 && std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(60)) {
    }
    __syncthreads();
  };
  CHECK(run({6, 32, 0, soon()}, busy).ok());  // 0.36 s in all, 0.06 s each
  CHECK(run({6, 32, 0, soon(2)}, busy).ok());
}
