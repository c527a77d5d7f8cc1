// setmaxnreg: a warpgroup gives registers back to its block, or takes more; sm_90a. (PTX ISA, "setmaxnreg".)
//
//   COUNT is what each of the warpgroup's threads has afterwards, a multiple of 8 from 24 to 256. registers_take waits
//   until the block has as many to give: it hangs if no warpgroup releases them. All four warps call it, and the kernel
//   needs
//   __launch_bounds__, so that what a thread starts with is known.
#pragma once
#include <cuda_runtime.h>
#ifndef __CUDACC__
#include "common/cpu/instructions.h"
#endif

namespace lab::ptx {

template <int COUNT>
__device__ __forceinline__ void registers_release() {
  static_assert(COUNT >= 24 && COUNT <= 256 && COUNT % 8 == 0);
#ifdef __CUDACC__
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" : : "n"(COUNT));
#else
  cpu::set_max_registers(COUNT, false);
#endif
}
template <int COUNT>
__device__ __forceinline__ void registers_take() {
  static_assert(COUNT >= 24 && COUNT <= 256 && COUNT % 8 == 0);
#ifdef __CUDACC__
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" : : "n"(COUNT));
#else
  cpu::set_max_registers(COUNT, true);
#endif
}

}  // namespace lab::ptx
