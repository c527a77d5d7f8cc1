// bar.sync and bar.arrive: the named barriers 1..15 of a block. (PTX ISA, "bar, barrier".)
//
//   `threads` take part, counted in whole warps: a multiple of 32, the same in every call of one use, at most the
//   block. barrier_sync waits until `threads` have arrived and sees what all of them wrote before; barrier_arrive
//   announces the warp and goes on. Completed, the barrier is fresh for its next use. Only participants are ordered.
//   Barrier 0 is __syncthreads'. All lanes of a warp must call it together.
#pragma once
#include <cuda_runtime.h>

namespace lab::ptx {

__device__ __forceinline__ void barrier_sync(int id, int threads) {
  asm volatile("bar.sync %0, %1;" : : "r"(id), "r"(threads) : "memory");
}

__device__ __forceinline__ void barrier_arrive(int id, int threads) {
  asm volatile("bar.arrive %0, %1;" : : "r"(id), "r"(threads) : "memory");
}

}  // namespace lab::ptx
