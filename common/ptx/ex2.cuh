// The special function unit: ex2 and rcp. (PTX ISA, "ex2", "rcp".) Subnormal inputs and results count as zero. The CPU
// computes the GPU's bits: common/emulator/special_functions.hpp.
#pragma once
#include <cuda_runtime.h>

namespace lab::ptx {

// ex2.approx.ftz.f32: 2^x, at most 2 ulp wrong; 2^-inf = +0, 2^+inf = +inf, 2^NaN = NaN.
__device__ __forceinline__ float ex2(float x) {
#ifdef __CUDACC__
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#else
  cpu::counted(Counted::exponential);
  return ex2_approx_ftz(x);
#endif
}

// rcp.approx.ftz.f32: 1 / x to within one ulp. Division in C++ is exact, and takes a dozen instructions and a branch.
__device__ __forceinline__ float rcp(float x) {
#ifdef __CUDACC__
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#else
  cpu::counted(Counted::reciprocal);
  return rcp_approx_ftz(x);
#endif
}

}  // namespace lab::ptx
