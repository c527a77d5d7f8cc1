// A backward stage as the harness sees it, by what its library exports (common/attention_backward.hpp).
#pragma once
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstddef>

#include "common/attention_backward.hpp"
#include "common/build_info.hpp"
#include "common/shape.hpp"
#include "common/stage.hpp"

namespace lab {

struct BackwardStageInfo {
  const char* name;  // the directory: "b1_two_kernels"
  // Queues a whole call on args.stream. Returns cudaSuccess, or why a launch was refused.
  cudaError_t (*launch)(const BackwardArgs& args);
  std::size_t (*workspace)(const Shape& shape);  // floats
  int tile_m, tile_n;                            // query rows and keys a tile
  bool half_p;                                   // rounds P and dS to fp16 before a product: the harness allows for it
  // The gradients alone, from the O and L that such a call has saved; null for a stage that saves none.
  cudaError_t (*gradients)(const BackwardArgs& args) = nullptr;
};

// The kernel at hand (checks/runner/library.hpp).
const BackwardStageInfo& backward_stage();

}  // namespace lab
