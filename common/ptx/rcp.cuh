// rcp.approx.ftz.f32: 1 / x to within one unit in the last place; sm_20. Division in C++ is exact, and takes a dozen
// instructions and a branch. (PTX ISA, "rcp".) Subnormal inputs and results count as zero. The CPU computes the GPU's
// bits: common/emulator/special_functions.hpp.
#pragma once
#include <cuda_runtime.h>

namespace lab::ptx {

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
