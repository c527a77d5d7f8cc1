// An order between blocks: a counter in global memory that one block raises and another waits for. ld.acquire.gpu and
// red.release.gpu, sm_70. (PTX ISA, "ld", "red", "Memory Consistency Model".)
//
//   A load that sees a new value orders all that follows it behind all that the addition follows: the accesses of that
//   thread, and those of others before a barrier that it has passed. The counter starts from zeros that an earlier launch
//   wrote. A block that waits keeps its multiprocessor, so the block that raises the counter must have been started
//   before it.
#pragma once
#include <cuda_runtime.h>

namespace lab::ptx {

#ifdef __CUDACC__
// ld.acquire.gpu.global.u32
__device__ __forceinline__ unsigned ld_acquire_gpu(const unsigned* counter) {
  unsigned now;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(now) : "l"(counter) : "memory");
  return now;
}
// red.release.gpu.global.add.u32
__device__ __forceinline__ void red_release_gpu_add(unsigned* counter, unsigned more) {
  asm volatile("red.release.gpu.global.add.u32 [%0], %1;" : : "l"(counter), "r"(more) : "memory");
}
#endif

}  // namespace lab::ptx
