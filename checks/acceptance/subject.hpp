// The stage at hand as the harness sees it, of either pass: one function that launches, the bytes of workspace that it wants, and
// what its stage.conf says.
#pragma once
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <string>
#include <vector>

#include "common/shape.hpp"

namespace lab {

// Device pointers to [B, H, S, D] tensors, in the order of Subject::inputs and Subject::outputs.
struct Call {
  const half* in[4] = {};
  half* out[3] = {};
  Shape shape;
  float scale = 0;
  cudaStream_t stream = nullptr;
  void* workspace = nullptr;
};

struct Subject {
  bool backward;
  std::vector<const char*> inputs, outputs;      // "q", "k", "v" and "out"; backward "dout" too, and "dq", "dk", "dv"
  cudaError_t (*launch)(const Call& call);       // all kernels of a call
  std::size_t (*workspace)(const Shape& shape);  // bytes
  bool half_p;                                   // rounds the weights to fp16 before a product: the bounds allow for it
  bool same_bits = true;                         // claims the same bits whatever the order of its blocks
  int together = 1;                              // blocks that may wait for each other, and so need room at once
  // Of a backward stage: query rows and keys of a tile; and the gradients alone, from the O and L that a call has saved in
  // its workspace, null for a stage that saves none.
  int tile_m = 0, tile_n = 0;
  cudaError_t (*gradients)(const Call& call) = nullptr;

  // Products of the forward pass's size, for the time that a launch may take on a GPU.
  double seconds(const Shape& shape) const;
};

// Of the kernel that is loaded.
const Subject& subject();

// How a forward stage launches a shape: what a report, a prediction or a plot needs to know of the kernel.
struct LaunchPlan {
  // By stage.conf's tiles=, 0 where it has none for this instance of the kernel.
  int tile_m = 0, tile_n = 0;  // query rows a block, keys a K/V tile
  int rows_per_warp = 0;       // query rows a compute warp owns
  int slots = 1;               // K/V tiles in shared memory
  std::string kernel;          // "attention<64,3,128,4>"
  dim3 grid;                   // x: query tiles, y: heads, z: batch
  dim3 block;
  unsigned parts = 1;    // blocks that share a query tile, a cluster along x: the launch has grid.x times as many
  std::size_t smem = 0;  // bytes of dynamic shared memory
};
LaunchPlan plan_of(const Shape& shape);

}  // namespace lab
