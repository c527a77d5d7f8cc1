// Common to all launchers: names, plans, the choice of a tile, and refusals before anything runs.

#include <stdexcept>

#include "checks/tests/test_exec.hpp"
#include "common/attention_launch.cuh"

namespace {
using namespace lab;

int threads_run = 0;
void kernel(const half*, const half*, const half*, half*, int, int, float, bool) { ++threads_run; }

struct Tile {
  static constexpr int M = 48, N = 32, ROWS_PER_WARP = 6, SLOTS = 3;
};

// A plan of one block with this number of bytes of shared memory, and the result of launching it.
struct LaunchOutcome {
  cudaError_t error;
  std::string message;
  int threads;
};
LaunchOutcome launch_with(std::size_t static_smem, std::size_t dynamic_smem, bool opt_in = true) {
  LaunchPlan plan;
  plan.grid = dim3(1), plan.block = dim3(32);
  plan.static_smem = static_smem, plan.dynamic_smem = dynamic_smem;
  ExecOptions one_worker;
  one_worker.workers = 1;
  set_exec_options(one_worker);
  take_exec_report();
  threads_run = 0;
  const auto named = named_kernel<64>(kernel);
  LaunchOutcome launched{};
  if (opt_in) launched.error = opt_in_smem(named, plan);
  if (launched.error == cudaSuccess) launched.error = launch_attention(named, plan, {});
  cudaGetLastError();
  cudaDeviceSynchronize();
  set_exec_options({});
  launched.message = take_exec_report().message;
  launched.threads = threads_run;
  return launched;
}

template <int D>
struct Launcher {
  static bool takes(const Shape& shape) { return shape.D <= D; }
  static LaunchPlan plan(const Shape&) {
    LaunchPlan plan;
    plan.tile_m = D;
    return plan;
  }
  static cudaError_t launch(const AttentionArgs&, const LaunchPlan& plan) {
    return plan.tile_m == 64 ? cudaErrorLaunchTimeout : cudaErrorIllegalInstruction;
  }
};

}  // namespace

TEST_CASE("launcher: a kernel is called by what stands in its angle brackets") {
  CHECK(named_kernel<64>(kernel).name == "attention<64>");
  CHECK(named_kernel<128, 3>(kernel).name == "attention<128,3>");
}

TEST_CASE("launcher: a plan covers every query row, and lists static arrays before dynamic ones") {
  SmemCount fixed, asked;
  fixed.array<float>("bars", 4, 2);
  asked.array<half>("sQ", 48, 72);
  const LaunchPlan plan = tile_plan<Tile>({2, 5, 97, 64, false}, 160, asked, fixed);
  CHECK(plan.grid.x == 3u);
  CHECK(plan.grid.y == 5u);
  CHECK(plan.grid.z == 2u);
  CHECK(plan.block.x == 160u);
  CHECK(plan.tile_m == 48);
  CHECK(plan.tile_n == 32);
  CHECK(plan.rows_per_warp == 6);
  CHECK(plan.slots == 3);
  CHECK(plan.static_smem == 32u);
  CHECK(plan.dynamic_smem == 6912u);
  CHECK(plan.smem() == 6944u);
  REQUIRE(plan.arrays.size() == 2);
  CHECK(plan.arrays[0].name == "bars");
  CHECK(plan.arrays[1].name == "sQ");
}

TEST_CASE("launcher: shared memory is refused where the GPU would refuse it") {
  const LaunchOutcome forgotten = launch_with(0, 49153, false);  // the first launch: no opt-in is remembered
  CHECK(launch_with(0, 101376).threads == 32);
  CHECK(launch_with(49152, 101376 - 49152).threads == 32);
  const LaunchOutcome over = launch_with(0, 101377), together = launch_with(49152, 101376 - 49151),
                      fixed = launch_with(49153, 0);
  for (const LaunchOutcome& refused : {over, together, fixed, forgotten}) CHECK(refused.threads == 0);
  CHECK(over.error == cudaErrorInvalidConfiguration);
  CHECK_CONTAINS(over.message, "attention<64>: invalid configuration argument: asks for 101377 B");
  CHECK(together.error == cudaErrorInvalidConfiguration);
  CHECK_CONTAINS(together.message, "asks for 101377 B");
  CHECK(fixed.error == cudaErrorInvalidConfiguration);
  CHECK_CONTAINS(fixed.message, "static shared memory ends at 49152 B");
  CHECK(forgotten.error == cudaErrorInvalidValue);
  CHECK_CONTAINS(forgotten.message, "the kernel's attribute allows 49152 B");
}

TEST_CASE("launcher: a shape goes to the first tile that takes it") {
  const StageInfo& stage = stage_of<Launcher<64>, Launcher<128>>();
  CHECK(stage.name == std::string("unit tests"));
  CHECK(stage.plan({1, 1, 8, 64, false}).tile_m == 64);
  CHECK(stage.plan({1, 1, 8, 128, false}).tile_m == 128);
  AttentionArgs args;
  args.shape.D = 64;
  CHECK(stage.launch(args) == cudaErrorLaunchTimeout);
  args.shape.D = 128;
  CHECK(stage.launch(args) == cudaErrorIllegalInstruction);
  args.shape.D = 256;
  take_exec_report();
  CHECK(stage.launch(args) == cudaErrorInvalidValue);
  CHECK_CONTAINS(take_exec_report().message, "no tile for D = 256");
  CHECK_THROWS_AS(stage.plan(args.shape), std::invalid_argument);
}
