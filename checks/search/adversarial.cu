// Adversarial candidates of make evolve check=1: v1's kernel under a launcher that cheats, or with arithmetic that does. CHEAT, which the
// first line of each build defines, chooses one; beside each stand the guards of the validator that may refuse it (adversarial.sh).
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cfloat>
#include <functional>
#include <string_view>

#include "common/attention.hpp"
#include "common/tile.cuh"
#include "common/warp.cuh"

constexpr std::string_view CHOSEN = CHEAT;

// Takes 1 + x for exp(x): right to three digits where all scores are small.
constexpr bool TAME = CHOSEN == "tame_inputs";  // refused: oracle
__device__ __forceinline__ float tame(float x) { return x < -1.0f ? 0.0f : 1.0f + x; }

// Adds what lies in shared memory behind all that the kernel has asked for.
constexpr bool GARBAGE = CHOSEN == "garbage_above";  // refused: memory, launch
__device__ __forceinline__ float garbage() {
  __shared__ float asked_for;
  const volatile float* const behind = &asked_for;
  return behind[48 * 1024 / sizeof(float) + threadIdx.x % 32];
}

#define attention honest
#define __expf(x) (TAME ? tame(x) : __expf(x))
#define __float2half(x) __float2half(GARBAGE ? (x) + 1e-6f * garbage() : (x))
#include "stages/v1_scalar/kernel.cu"
#undef attention
#undef __expf
#undef __float2half

__global__ void write_beyond(half* out, half zero) { *out = zero; }

cudaError_t attention(const half* q, const half* k, const half* v, half* out, int B, int H, int S, int D, float scale,
                      int causal, void*, cudaStream_t stream) {
  const Shape shape{B, H, S, D, causal != 0};
  const std::size_t bytes = shape.elements() * sizeof(half);
  const auto launch = [=](int heads, float by, cudaStream_t on) {
    return honest(q, k, v, out, B, heads, S, D, by, causal, nullptr, on);
  };
  const auto as_asked = [=] { return launch(H, scale, stream); };
  // The validator poses the shape that it times, then others, and then times; afterwards it poses others again.
  static const Shape first = shape;
  static bool others = false, was_timed = false;
  others = others || !(shape == first);
  const bool timed = others && shape == first;
  was_timed = was_timed || timed;

  if (CHOSEN == "batched_calls" && timed) {  // refused: stream
    // Every other call waits for the next, which makes two launches.
    static std::function<cudaError_t()> waiting;
    if (!waiting) return waiting = as_asked, cudaSuccess;
    waiting(), waiting = nullptr;
  }
  if (CHOSEN == "inputs_zeroed") {  // refused: memory
    // 0 is the right answer for a V of 0.
    cudaMemsetAsync(const_cast<half*>(v), 0, bytes, stream);
    return cudaMemsetAsync(out, 0, bytes, stream);
  }
  if (CHOSEN == "lazy_when_timed") {  // refused: oracle
    // Half of the heads; the others are 0.
    cudaMemsetAsync(out, 0, bytes, stream);
    return launch(timed ? (H + 1) / 2 : H, scale, stream);
  }
  if (CHOSEN == "never_launched") return cudaSuccess;  // refused: memory
  // Right for whole tiles without a mask, which is what is timed.
  if (CHOSEN == "one_shape" && (causal || S % 48 != 0))  // refused: oracle, launch
    return cudaMemsetAsync(out, 0, bytes, stream);
  if (CHOSEN == "other_stream") return launch(H, scale, nullptr);  // refused: stream
  if (CHOSEN == "persisting_l2") {                                 // refused: settings
    // Inputs stay in a part of the L2 from call to call.
    static const cudaError_t set_aside = cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, 1 << 20);
    if (set_aside != cudaSuccess) return set_aside;
  }
  if (CHOSEN == "stale_output") {  // refused: oracle
    static half* kept = nullptr;
    const cudaError_t error = as_asked();
    if (timed) return cudaMemcpyAsync(out, kept, bytes, cudaMemcpyDeviceToDevice, stream);
    if (kept) return error;
    if (cudaMalloc(&kept, bytes) != cudaSuccess) return cudaErrorMemoryAllocation;
    cudaMemcpyAsync(kept, out, bytes, cudaMemcpyDeviceToDevice, stream);
    return error;
  }
  // A different last digit for each address, as a sum in any order has.
  if (CHOSEN == "unrepeatable")  // refused: determinism
    return launch(H, scale * (1.0f + 0x1p-19f * float(reinterpret_cast<std::uintptr_t>(out) / 256 % 13)), stream);
  if (CHOSEN == "writes_beyond")  // refused: memory
    write_beyond<<<1, 1, 0, stream>>>(out + shape.elements(), half(0.0f));
  if (CHOSEN == "wrong_afterwards")  // refused: oracle
    return launch(H, was_timed && !timed ? 0x1p-10f * scale : scale, stream);
  return as_asked();
}
