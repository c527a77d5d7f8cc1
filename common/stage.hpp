// A stage's interface to the harness: one descriptor, defined at the end of its kernel.cu.
#pragma once
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "common/attention.hpp"
#include "common/build_info.hpp"

namespace lab {

// One array of a shared-memory plan, as the kernel carves it.
struct SharedArray {
  std::string name;  // as in the kernel: "sQ"
  std::string type;  // "half" or "float"
  int rows = 0;
  int pitch = 0;  // elements from one row to the next
  std::size_t bytes = 0;
};

// How a stage would launch a shape: everything a report, a prediction or a plot needs to know of the kernel.
struct LaunchPlan {
  LaunchPlan();  // these in plan.cpp, which says why
  LaunchPlan(const LaunchPlan&);
  LaunchPlan(LaunchPlan&&) noexcept;
  LaunchPlan& operator=(const LaunchPlan&);
  LaunchPlan& operator=(LaunchPlan&&) noexcept;
  ~LaunchPlan();
  int tile_m = 0;                       // query rows a block
  int tile_n = 0;                       // keys a K/V tile
  int rows_per_warp = 0;                // query rows a compute warp owns
  int slots = 1;                        // K/V tiles in shared memory
  int tile = 0;                         // which of the launcher's tiles, of StageInfo::tiles
  bool counts_multiprocessors = false;  // the launcher's choice depends on their number: the harness tries another
  bool empty_tile_is_nan = false;       // a row whose first tile has no score above -inf becomes NaN: allowed for, too
  bool half_p = false;                  // rounds the softmax weights to fp16 before P·V: the harness allows for it
  std::string kernel;  // as reports call it: "attention<64,3,128,4>"; "" where D and slots or rows tell it
  dim3 grid;           // x: query tiles, y: heads, z: batch
  dim3 block;
  unsigned parts = 1;  // blocks that share a query tile, a cluster along x: the launch has grid.x times as many
  // The linear index of the block that takes query tile `tile` (counted head after head, `tiles` per head); null: the
  // tile's own number. Checks that run some tiles only ask for their blocks.
  unsigned (*block_of)(unsigned tile, unsigned tiles, unsigned heads) = nullptr;
  std::size_t static_smem = 0;   // bytes of __shared__ arrays
  std::size_t dynamic_smem = 0;  // bytes asked for at launch
  std::size_t workspace = 0;     // bytes of AttentionArgs::workspace
  std::vector<SharedArray> arrays;
  std::size_t smem() const { return static_smem + dynamic_smem; }
  // ExecOptions::blocks for these tiles, of each cluster its first: ascending.
  std::vector<std::uint32_t> blocks_of(std::vector<std::uint32_t> tiles, const Shape& shape) const {
    const unsigned per_head = unsigned(shape.S + tile_m - 1) / unsigned(tile_m), heads = unsigned(shape.B * shape.H);
    if (block_of)
      for (std::uint32_t& tile : tiles) tile = block_of(tile, per_head, heads);
    for (std::uint32_t& block : tiles) block *= parts;
    std::sort(tiles.begin(), tiles.end());
    return tiles;
  }
};

struct StageInfo {
  const char* name;  // the directory: "v2b_single_warp"
  // Queues one attention on args.stream. Returns cudaSuccess, or why the launch was refused;
  // errors inside the kernel show at the next synchronisation, as with any CUDA launch.
  cudaError_t (*launch)(const AttentionArgs& args);
  LaunchPlan (*plan)(const Shape& shape);
  int tiles = 1;  // that the launcher chooses from
};

// The kernel at hand (checks/runner/library.hpp).
const StageInfo& stage();

}  // namespace lab
