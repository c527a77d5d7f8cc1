// Clusters on the CPU: what a launch may ask for, ranks and places, who runs when, and blocks that run together.
#include <atomic>
#include <set>
#include <vector>

#include "checks/tests/async_fixtures.hpp"
#include "checks/tests/test_exec.hpp"
#include "common/launch.cuh"
#include "common/ptx/cluster.cuh"
#include "common/ptx/grid_dependency.cuh"

using namespace lab;
using namespace lab::ptx;
using Kind = Finding::Kind;

namespace {

constexpr std::size_t SMEM = 4096;
const char large_kernel = 0, small_kernel = 0;

__global__ void writes_its_rank(int* out) { out[blockIdx.x] = int(cluster_rank() * 10 + cluster_size()); }

}  // namespace

TEST_CASE("cluster: launches that CUDA refuses") {
  const auto refused = [](dim3 grid, dim3 cluster, cudaError_t error, const std::string& text,
                          const void* kernel = &small_kernel) {
    bool ran = false;
    const Outcome outcome = run({grid, 32, SMEM, {}, cluster, kernel}, [&] { ran = true; });
    CHECK(outcome.launched == error);
    CHECK_FALSE(ran);
    CHECK_CONTAINS(outcome.message(), "probe: " + text);
  };
  refused(6, 4, cudaErrorInvalidConfiguration, "a grid of (6,1,1) in clusters of (4,1,1); a multiple");
  refused(dim3(4, 3), dim3(2, 2), cudaErrorInvalidConfiguration, "a grid of (4,3,1) in clusters of (2,2,1)");
  refused(16, 16, cudaErrorInvalidClusterSize,
          "a cluster of (16,1,1), 16 blocks; 1 to 8 are allowed, 16 with cudaFuncAttributeNonPortableClusterSize");
  refused(32, 32, cudaErrorInvalidClusterSize, "a cluster of (32,1,1), 32 blocks; 1 to 8 are allowed");
  refused(8, dim3(2, 0), cudaErrorInvalidClusterSize, "a cluster of (2,0,1), 0 blocks");
  CHECK(int(cudaErrorInvalidClusterSize) == 912);
  cpu::allow_large_clusters(&large_kernel, true);
  CHECK(run({16, 32, SMEM, {}, 16, &large_kernel}, [] {}).ok());
  refused(32, 32, cudaErrorInvalidClusterSize, "a cluster of (32,1,1), 32 blocks; 1 to 16 are allowed", &large_kernel);
}

TEST_CASE("cluster: launch_with asks for a cluster, launch for none") {
  int* out = nullptr;
  REQUIRE(cudaMalloc(&out, 4 * sizeof(int)) == cudaSuccess);
  LaunchExtras extras;
  extras.cluster = dim3(2);
  REQUIRE(launch_with(extras, "ranks", writes_its_rank, 4, 1, 0, nullptr, out) == cudaSuccess);
  CHECK(std::vector<int>(out, out + 4) == std::vector<int>{2, 12, 2, 12});
  REQUIRE(launch("ranks", writes_its_rank, 4, 1, 0, nullptr, out) == cudaSuccess);
  CHECK(std::vector<int>(out, out + 4) == std::vector<int>{1, 1, 1, 1});
  cudaFree(out);
}

TEST_CASE("cluster: ranks count x first, and each block keeps its place in the grid") {
  under_all_schedules([](ExecOptions options) {
    for (const int workers : {1, 3}) {
      options.workers = workers;
      int rank[2][4][6] = {}, size[2][4][6] = {}, still[2][4][6] = {};
      const Outcome outcome = runs({dim3(6, 4, 2), 64, SMEM, options, dim3(3, 2, 1)}, [&] {
        const uint3 at = blockIdx;
        cluster_sync();
        __syncthreads();
        if (threadIdx.x == 33) {
          rank[at.z][at.y][at.x] = int(cluster_rank()), size[at.z][at.y][at.x] = int(cluster_size());
          still[at.z][at.y][at.x] = blockIdx.x == at.x && blockIdx.y == at.y && blockIdx.z == at.z;
        }
      });
      CHECK(outcome.report.blocks_run == 48u);
      CHECK(outcome.report.blocks_total == 48u);
      for (int z = 0; z < 2; ++z)
        for (int y = 0; y < 4; ++y)
          for (int x = 0; x < 6; ++x) {
            CHECK(rank[z][y][x] == x % 3 + 3 * (y % 2));
            CHECK(size[z][y][x] == 6);
            CHECK(still[z][y][x] == 1);
          }
    }
  });
}

TEST_CASE("cluster: a sample of blocks takes whole clusters") {
  ExecOptions options;
  options.blocks = {1, 6, 7, 900};
  std::atomic<unsigned> ran{0};
  const Outcome outcome = runs({8, 1, SMEM, options, 2}, [&] { ran |= 1u << blockIdx.x; });
  CHECK(ran == 0b11000011u);
  CHECK(outcome.report.blocks_run == 4u);
  CHECK(outcome.report.blocks_total == 8u);
}

TEST_CASE("cluster: its barrier holds all threads of all blocks, and those that returned count as arrived") {
  under_all_schedules([](const ExecOptions& options) {
    int came = 0, wrong = 0;
    runs({4, 96, SMEM, options, 4}, [&] {
      if (threadIdx.x >= 64) return;  // one warp of each block
      for (int turn = 1; turn <= 5; ++turn) {
        ++came;
        cluster_arrive();
        __syncwarp();
        cluster_wait();
        wrong += came < 256 * turn;
        cluster_sync();
      }
    });
    CHECK(came == 1280);
    CHECK(wrong == 0);
  });
}

TEST_CASE("cluster: st.async happens when the copies' mode says, under the schedules that interleave too") {
  for (const Copies copies : {Copies::at_wait, Copies::at_issue})
    under_all_schedules([&](ExecOptions options) {
      options.copies = copies;
      float before = 0, after = 0;
      runs({2, 32, SMEM, options, 2}, [&] {
        SmemCursor cursor;
        auto* box = cursor.array<float4>("box", 1, 1);
        auto* full = barriers(cursor);
        if (threadIdx.x == 0) {
          *box = make_float4(1, 1, 1, 1);
          mbarrier_arrive_expect_tx(full, 16);
        }
        cluster_sync();
        if (cluster_rank() == 0 && threadIdx.x == 0) st_async(mapa(box, 1), make_float4(2, 2, 2, 2), mapa(full, 1));
        cluster_sync();
        for (int i = 0; i < 100; ++i) __syncwarp();
        if (cluster_rank() == 0) return;
        if (threadIdx.x == 0) before = box->x;
        mbarrier_wait(full, 0);
        after = box->x;
      });
      CHECK(before == (copies == Copies::at_wait ? 1 : 2));
      CHECK(after == 2);
    });
}

TEST_CASE("cluster: blocks take turns under the schedules that interleave, and only there") {
  const auto changes = [](Schedule schedule) {
    int last = -1, changed = 0;
    runs({2, 32, SMEM, in_order(schedule), 2}, [&] {
      for (int i = 0; i < 200; ++i) {
        changed += last != int(cluster_rank());
        last = int(cluster_rank());
        __syncwarp();
      }
    });
    return changed;
  };
  CHECK(changes(Schedule::ascending) == 2);
  CHECK(changes(Schedule::descending) == 2);
  CHECK(changes(Schedule::round_robin) > 20);
  CHECK(changes(Schedule::random) > 20);
}

TEST_CASE("cluster: a block that never ends is stopped by its time") {
  ExecOptions options;
  options.block_seconds = 0.1;
  const Outcome outcome = run({2, 32, SMEM, options, 2}, [] {
    if (cluster_rank() == 1)
      for (;;) __syncwarp();
    cluster_sync();
  });
  check_failed(outcome, cudaErrorLaunchTimeout, Kind::time_limit,
               "time limit: the cluster's 2 blocks have run for 0.2 s");
}
