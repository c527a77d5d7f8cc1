// Which instances of a kernel problems use, and what is said of one that nothing uses; which blocks write which rows.
#include <doctest/doctest.h>

#include <algorithm>

#include "checks/acceptance/sampling.hpp"
#include "common/backend.hpp"
#include "common/cpu/plain_launch.h"

namespace lab {

// A block copies 64 rows of q; of the broken one the block before writes the first of them, too.
template <int M, int WHICH>
__global__ void copy_rows(const half* q, half* out, int S, int D, bool broken) {
  const int tile = int(blockIdx.x), head = int(blockIdx.y);
  for (int row = tile * M - (broken && tile > 0); row < std::min(S, (tile + 1) * M); ++row)
    for (int col = int(threadIdx.x); col < D; col += 32) {
      const std::size_t at = (std::size_t(head) * S + row) * D + col;
      out[at] = q[at];
    }
}

namespace {

bool broken = false;

// Instance 0 where the GPU has one multiprocessor, else 1, but never under a causal mask; nothing launches instance 2.
cudaError_t picky(const Call& c) {
  void (*const kernels[])(const half*, half*, int, int, bool) = {copy_rows<64, 0>, copy_rows<64, 1>, copy_rows<64, 2>};
  auto* const kernel = kernels[c.shape.S > 1'000'000 ? 2 : !c.shape.causal && exec_options().multiprocessors != 1];
  const dim3 grid((c.shape.S + 63) / 64, c.shape.B * c.shape.H);
  return plain::Launch("copy_rows", dim3(1), grid, dim3(32), 0, c.stream)
      .run([=](auto... arguments) { kernel(arguments...); },
           [=](auto) { return reinterpret_cast<const void*>(kernel); }, c.in[0], c.out[0], c.shape.S, c.shape.D,
           broken);
}
const Subject PICKY{false, {"q", "k", "v"}, {"out"}, picky, [](const Shape&) { return std::size_t(0); }, false};

}  // namespace

TEST_CASE("instances: the cheapest problem for each use of each instance") {
  const auto problems = use_problems(PICKY);
  CHECK(problems.size() == 6);
  const auto problem = [&](int which, bool causal, bool ragged) {
    const auto found = std::ranges::find_if(problems, [&](const auto& p) {
      return p.first.causal == causal && p.first.ragged == ragged &&
             kernel_name(p.first.kernel) == "copy_rows<64, " + std::to_string(which) + ">";
    });
    return found == problems.end() ? UseProblem{} : found->second;
  };
  CHECK(problem(0, false, false).shape == Shape{1, 1, 64, 64, false});
  CHECK(problem(0, false, false).multiprocessors == 1);
  CHECK(problem(1, false, true).shape == Shape{1, 1, 50, 64, false});
  CHECK(problem(1, false, true).multiprocessors == 132);
  CHECK(problem(0, true, true).shape.S == 50);
  CHECK(problem(1, true, true).shape == Shape{});
}

TEST_CASE("instances: what did not run is named, and so is an instance that nothing chooses") {
  const std::string never = "copy_rows<64, 2>: no problem that was tried launches it";
  std::vector<Case> cases = instance_cases(PICKY, {}, 1);
  CHECK(cases.size() == 6);
  CHECK(left_out(PICKY, cases) == std::vector{never});
  std::erase_if(cases, [](const Case& c) { return c.multiprocessors == 132; });
  CHECK(left_out(PICKY, cases) ==
        std::vector<std::string>{"copy_rows<64, 1>: no problem that was tried launches it", never});
}

TEST_CASE("instances: every element is written by one block, or the first that is not is named") {
  CHECK(not_written_once(PICKY) == "");
  broken = true;
  CHECK(not_written_once(PICKY) == "(1,3,130,64): row 63 of [B*H*S] is written by 2 blocks, each run alone");
  broken = false;
}

TEST_CASE("instances: a dry launch is recorded, with its grid, and writes nothing") {
  const std::vector<Launched> launched = launches_of(PICKY, {2, 3, 130, 64, false}, 4);
  REQUIRE(launched.size() == 1);
  CHECK(launched[0].grid.x == 3u);
  CHECK(launched[0].grid.y == 6u);
  CHECK(kernel_name(launched[0].kernel) == "copy_rows<64, 1>");
  CHECK(take_exec_report().blocks_run == 0);
  CHECK(exec_options().multiprocessors == 0);  // as it was before
}

}  // namespace lab
