// red: adds to memory without asking what was there. red.global.add.v4.f32 adds four neighbours at once: each of the
// four is an atomic of its own; sm_90. (PTX ISA, "red".)
#pragma once
#include <cuda_runtime.h>

namespace lab::ptx {

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900

// to[0] += a ... to[3] += d; `to` is 16-byte aligned.
__device__ __forceinline__ void add4(float* to, float a, float b, float c, float d) {
#ifdef __CUDACC__
  asm volatile("red.global.add.v4.f32 [%0], {%1, %2, %3, %4};" : : "l"(to), "f"(a), "f"(b), "f"(c), "f"(d) : "memory");
#else
  atomicAdd(to, a), atomicAdd(to + 1, b), atomicAdd(to + 2, c), atomicAdd(to + 3, d);
#endif
}

#ifdef __CUDACC__
__device__ __forceinline__ void red_add_v4(float* to, const float (&x)[4]) { add4(to, x[0], x[1], x[2], x[3]); }
#endif

#endif

}  // namespace lab::ptx
