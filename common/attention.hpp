// One attention, as callers ask for it and as a stage launches it: out = softmax(scale Q K^T) V, head by head.
#pragma once
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <initializer_list>

#include "common/shape.hpp"

namespace lab {

// Tensors are contiguous [B, H, S, D], on the device, and start on 16 bytes.
struct AttentionArgs {
  const half* q = nullptr;
  const half* k = nullptr;
  const half* v = nullptr;
  half* out = nullptr;
  Shape shape;
  float scale = 0.125f;  // multiplies q·k before the softmax: positive and finite
  cudaStream_t stream = nullptr;
  // attention_workspace() bytes of global memory, 16-byte aligned, with anything in them. It is this launch's until
  // the launch has ended: launches that may overlap have one each.
  void* workspace = nullptr;
};

}  // namespace lab

// A stage's library exports this function: it queues the attention on `stream`, and returns why a launch was
// refused; an error in the kernel shows at the next synchronisation, as with any CUDA launch.
extern "C" [[gnu::visibility("default")]] cudaError_t attention(const half* q, const half* k, const half* v, half* out,
                                                                int B, int H, int S, int D, float scale, int causal,
                                                                void* workspace, cudaStream_t stream);
// The bytes of workspace that it wants; a stage without this function wants none.
extern "C" [[gnu::visibility("default")]] std::size_t attention_workspace(int B, int H, int S, int D, int causal);

// Called with the reason when a launch is refused, if the program defines it. A shape for which a kernel of your own
// returns cudaErrorNotSupported is one that it does not take: the test skips and counts it.
extern "C" [[gnu::weak, gnu::visibility("default")]] void lab_refused(const char* why);

namespace lab {

template <class... Values>
cudaError_t refuse(const char* why, Values... values) {
  char line[200];
  if constexpr (sizeof...(values) > 0)
    std::snprintf(line, sizeof line, why, values...);
  else
    std::snprintf(line, sizeof line, "%s", why);
  if (&lab_refused) lab_refused(line);
  return cudaErrorInvalidValue;
}

inline constexpr float LOG2_E = 1.44269504f;  // exp(x) = 2^(x LOG2_E)

// Refuses what no stage takes. Below 0 a scale would turn the order of the scores; at 0, or where scale LOG2_E
// is infinite, a hidden key's -inf would become a NaN.
inline cudaError_t check(const Shape& shape, float scale, std::initializer_list<const void*> tensors) {
  cudaGetLastError();  // an older call's, which has returned it: a launcher ends by returning the last error as its own
  const auto& [B, H, S, D, causal] = shape;
  if (D != 64 && D != 128) return refuse("D = %d: there are kernels for 64 and 128", D);
  if (S < 1 || H < 1 || H > 65535 || B < 1 || B > 65535)
    return refuse("B, H, S = %d, %d, %d: at least 1, B and H at most 65535", B, H, S);
  if (!(scale > 0) || !std::isfinite(scale * LOG2_E)) return refuse("scale = %g: positive, at most 2.3e38", scale);
  for (const void* tensor : tensors)
    if (!tensor || std::uintptr_t(tensor) % 16) return refuse("a tensor at %p: 16-byte aligned", tensor);
  return cudaSuccess;
}
inline cudaError_t check(const AttentionArgs& a) { return check(a.shape, a.scale, {a.q, a.k, a.v, a.out}); }

}  // namespace lab
