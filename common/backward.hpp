// A backward stage's interface to the harness: one descriptor, defined at the end of its kernel.cu. With
//   P = softmax(scale Q K^T),  O = P V,  and dO the gradient of a loss by O,
// such a stage computes the loss's gradients by Q, K and V.
#pragma once
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstddef>

#include "common/build_info.hpp"
#include "common/shape.hpp"
#include "common/stage.hpp"

namespace lab {

// Device pointers to contiguous [B, H, S, D] fp16 tensors.
struct BackwardArgs {
  const half* q = nullptr;
  const half* k = nullptr;
  const half* v = nullptr;
  const half* dout = nullptr;
  half* dq = nullptr;
  half* dk = nullptr;
  half* dv = nullptr;
  float* workspace = nullptr;  // BackwardStageInfo::workspace floats, with anything in them
  Shape shape;
  float scale = 0.125f;
  cudaStream_t stream = nullptr;
};

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
};

// The kernel at hand (checks/runner/library.hpp).
const BackwardStageInfo& backward_stage();

}  // namespace lab

// A backward stage's library exports these, as a forward one's does (common/stage.hpp).
LAB_EXPORT cudaError_t attention_backward(const half* q, const half* k, const half* v, const half* dout, half* dq,
                                          half* dk, half* dv, int B, int H, int S, int D, float scale, int causal,
                                          void* workspace, cudaStream_t stream);
LAB_EXPORT std::size_t attention_backward_workspace(int B, int H, int S, int D, int causal);
LAB_EXPORT const lab::BackwardStageInfo& lab_backward_stage();
