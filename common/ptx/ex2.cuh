// ex2.approx.ftz.f32: 2^x. (PTX ISA, "ex2".) At most 2 ulp wrong; subnormal inputs and results count as zero; 2^-inf =
// +0, 2^+inf = +inf, 2^NaN = NaN. The CPU computes the GPU's bits: common/emulator/special_functions.hpp.
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
  return ex2_approx_ftz(x);
#endif
}

}  // namespace lab::ptx
