// red adds to global memory without asking what was there. With .release it also raises a counter that another block waits
// for by ld.acquire: an order between blocks. (PTX ISA, "red", "ld", "Memory Consistency Model".)
//
//   A load that sees a new value orders all that follows it behind all that the addition follows: the accesses of that
//   thread, and those of others before a barrier that it has passed. The counter starts from zeros that an earlier launch
//   wrote. A block that waits keeps its multiprocessor, so the block that raises the counter must have been started
//   before it.
#pragma once
#include <cuda_runtime.h>

namespace lab::ptx {

// red.global.add.v4.f32: to[0] += x[0] ... to[3] += x[3], each an atomic of its own; `to` is 16-byte aligned; sm_90.
__device__ __forceinline__ void red_add_v4(float* to, const float (&x)[4]) {
  asm volatile("red.global.add.v4.f32 [%0], {%1, %2, %3, %4};"
               :
               : "l"(to), "f"(x[0]), "f"(x[1]), "f"(x[2]), "f"(x[3])
               : "memory");
}

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

}  // namespace lab::ptx
