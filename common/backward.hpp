// A backward stage's interface to the harness: one descriptor, defined at the end of its kernel.cu. With
//   P = softmax(scale Q K^T),  O = P V,  and dO the gradient of a loss by O,
// such a stage computes the loss's gradients by Q, K and V.
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
  // Queues its kernels on args.stream. Returns cudaSuccess, or why a launch was refused.
  cudaError_t (*launch)(const BackwardArgs& args);
  std::size_t (*workspace)(const Shape& shape);  // floats
  int tile_m, tile_n;                            // query rows and keys a tile
  bool half_p;                                   // rounds P and dS to fp16 before a product: the harness allows for it
  // Queues the forward pass whose O and L such a stage starts from, into the workspace; `launch` comes after it, with
  // the same args, and is what the bench times. Null where `launch` needs neither.
  cudaError_t (*save_forward)(const BackwardArgs& args) = nullptr;
  // Of a stage in plain CUDA, whose `launch` is a whole call: the gradients alone.
  cudaError_t (*gradients)(const BackwardArgs& args) = nullptr;
};

// The kernel at hand (checks/runner/library.hpp).
const BackwardStageInfo& backward_stage();

}  // namespace lab

// One that is not plain CUDA yet exports its descriptor, too.
LAB_EXPORT const lab::BackwardStageInfo& lab_backward_stage();
