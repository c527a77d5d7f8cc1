// What is counted of the copy engine, wgmma and mbarriers: these tell themselves, so the kernels here are plain
// lambdas.
#include "checks/tests/async_fixtures.hpp"
#include "checks/tests/test_exec.hpp"

using namespace lab;
using namespace lab::ptx;

namespace {

constexpr std::size_t SMEM = 32768;

Tallies counted(unsigned threads, const std::function<void()>& kernel) {
  ExecOptions options;
  options.count = true;
  const Outcome outcome = runs({1, threads, SMEM, options}, kernel);
  REQUIRE(outcome.report.counted_blocks.size() == 1);
  return outcome.report.counted_blocks[0].tallies;
}
const Tally& of(const Tallies& tallies, Counted what) { return tallies[std::size_t(what)]; }

}  // namespace

TEST_CASE("counters: a box's bytes, and the sectors of it that lie inside the tensor") {
  constexpr int COLUMNS = 64, ROWS = 10;
  half* data = nullptr;
  REQUIRE(cudaMalloc(&data, COLUMNS * ROWS * sizeof(half)) == cudaSuccess);
  TensorShape shape;
  shape.rank = 2;
  shape.extent[0] = COLUMNS, shape.extent[1] = ROWS, shape.stride[0] = 2, shape.stride[1] = COLUMNS * 2;
  shape.box[0] = 32, shape.box[1] = 8;
  TensorMap map;
  REQUIRE(make_tensor_map(map, data, shape) == cudaSuccess);
  for (const int row : {0, 6}) {  // the second box has four rows of eight
    const Tallies t = counted(32, [&] {
      AlignedSmemCursor cursor;
      auto* tile = cursor.array<half, SWIZZLE_ALIGN>("tile", 256, 1);
      auto* full = barriers(cursor);
      if (threadIdx.x == 0) {
        mbarrier_arrive_expect_tx(full, 512);
        tma_load_2d(tile, &map, 32, row, full);
        mbarrier_wait(full, 0);
      }
    });
    const Tally& load = of(t, Counted::tma_load);
    CHECK((load.instructions == 1 && load.bytes == 512 && load.sectors == (row == 0 ? 8 * 2 : 4 * 2)));
    CHECK((of(t, Counted::mbarrier_arrive).instructions == 1 && of(t, Counted::mbarrier_wait).instructions == 1));
  }
  cudaFree(data);
}

TEST_CASE("counters: what a wgmma multiplies, and reads from shared memory") {
  const auto product = [](bool from_registers) {
    return counted(128, [&] {
      const Tiles t = tiles();
      float d[32] = {};
      const unsigned fragment[4] = {};
      wgmma_fence();
      if (from_registers)
        wgmma<64>(d, fragment, t.of_b, true);
      else
        wgmma<64>(d, t.of_a, t.of_b, true);
      wgmma_commit();
      wgmma_wait<0>();
    });
  };
  for (const bool from_registers : {false, true}) {
    CAPTURE(from_registers);
    const Tally t = of(product(from_registers), Counted::wgmma);
    CHECK(t.instructions == 4);  // of a warpgroup's warps
    CHECK(t.multiplies == 64 * 64 * 16);
    CHECK(t.bytes == (from_registers ? 0 : 64 * 16 * 2) + 64 * 16 * 2);
    CHECK(t.wavefronts == t.bytes / 128);
  }
}

TEST_CASE("counters: a wait at an mbarrier lasts until the last to arrive has come, in steps") {
  const auto waited = [](int late) {
    return of(counted(64,
                      [late] {
                        SmemCursor cursor;
                        auto* full = barriers(cursor);
                        if (threadIdx.x >= 32) {
                          for (int i = 0; i < late; ++i) __syncwarp();
                          if (threadIdx.x == 32) mbarrier_arrive(full);
                        } else {
                          mbarrier_wait(full, 0);
                        }
                      }),
              Counted::mbarrier_wait);
  };
  CHECK((waited(0).instructions == 1 && waited(0).lanes == 32 && waited(0).waited == 0 && waited(7).waited == 7));
}
