// One backward attention, as callers ask for it and as a stage launches it. With
//   P = softmax(scale Q K^T),  O = P V,  and dO the gradient of a loss by O,
// it computes the loss's gradients by Q, K and V, head by head.
#pragma once
#include "common/attention.hpp"

namespace lab {

// Tensors are contiguous [B, H, S, D], on the device, and start on 16 bytes.
struct BackwardArgs {
  const half* q = nullptr;
  const half* k = nullptr;
  const half* v = nullptr;
  const half* dout = nullptr;
  half* dq = nullptr;
  half* dk = nullptr;
  half* dv = nullptr;
  float* workspace = nullptr;  // attention_backward_workspace() bytes, 16-byte aligned, with anything in them
  Shape shape;
  float scale = 0.125f;  // multiplies q·k before the softmax: positive and finite
  cudaStream_t stream = nullptr;
};

// Refuses what no backward stage takes.
inline cudaError_t check(const BackwardArgs& a) {
  return check(a.shape, a.scale, {a.q, a.k, a.v, a.dout, a.dq, a.dk, a.dv, a.workspace});
}

}  // namespace lab

// A backward stage's library exports this function: it queues the gradients on `stream`, and before
// them the forward pass whose O and L they start from, if they do. Returns why a launch was refused.
extern "C" [[gnu::visibility("default")]] cudaError_t attention_backward(const half* q, const half* k, const half* v,
                                                                         const half* dout, half* dq, half* dk, half* dv,
                                                                         int B, int H, int S, int D, float scale,
                                                                         int causal, void* workspace,
                                                                         cudaStream_t stream);
// The same without the forward pass: O and L of the same inputs lie in the workspace already, from such a call.
extern "C" [[gnu::visibility("default")]] cudaError_t attention_backward_gradients(
    const half* q, const half* k, const half* v, const half* dout, half* dq, half* dk, half* dv, int B, int H, int S,
    int D, float scale, int causal, void* workspace, cudaStream_t stream);
// The bytes of workspace that both want.
extern "C" [[gnu::visibility("default")]] std::size_t attention_backward_workspace(int B, int H, int S, int D,
                                                                                   int causal);
