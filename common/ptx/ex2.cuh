// ex2.approx.ftz.f32: 2^x. (PTX ISA, "ex2".) On the GPU at most 2 ulp wrong, and subnormal inputs and results count as
// zero; 2^-inf = +0, 2^+inf = +inf, 2^NaN = NaN. On the CPU: exp2f, rounded better, with the same flushing to zero; so
// the last bits differ between the two.
#pragma once
#include <cuda_runtime.h>

namespace lab::ptx {

__device__ __forceinline__ float ex2(float x) {
#ifdef __CUDACC__
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#else
  cpu::counted(Counted::exponential);
  // A subnormal x needs no care: 2^x rounds to 1, as 2^0 is.
  return x < -126.0f ? 0.0f : std::exp2(x);
#endif
}

}  // namespace lab::ptx
