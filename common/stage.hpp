// A stage's interface to the harness: one descriptor, defined at the end of its kernel.cu.
#pragma once
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <string>

#include "common/attention.hpp"
#include "common/build_info.hpp"

namespace lab {

// How a stage would launch a shape: everything a report, a prediction or a plot needs to know of the kernel.
struct LaunchPlan {
  int tile_m = 0;         // query rows a block
  int tile_n = 0;         // keys a K/V tile
  int rows_per_warp = 0;  // query rows a compute warp owns
  int slots = 1;          // K/V tiles in shared memory
  bool half_p = false;    // rounds the softmax weights to fp16 before P·V: the harness allows for it
  std::string kernel;     // as reports call it: "attention<64,3,128,4>"; "" where D and slots or rows tell it
  dim3 grid;              // x: query tiles, y: heads, z: batch
  dim3 block;
  unsigned parts = 1;    // blocks that share a query tile, a cluster along x: the launch has grid.x times as many
  std::size_t smem = 0;  // bytes of dynamic shared memory
};

struct StageInfo {
  const char* name;  // the directory: "v2b_single_warp"
  // Queues one attention on args.stream. Returns cudaSuccess, or why the launch was refused;
  // errors inside the kernel show at the next synchronisation, as with any CUDA launch.
  cudaError_t (*launch)(const AttentionArgs& args);
  LaunchPlan (*plan)(const Shape& shape);
};

// The kernel at hand (checks/runner/library.hpp).
const StageInfo& stage();

}  // namespace lab
