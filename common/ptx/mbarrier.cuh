// mbarrier: a barrier in shared memory that counts arrivals and bytes, phase after phase; sm_90 as used here. (PTX ISA,
// "mbarrier".)
//
//   A phase is complete when none of `arrivals` is pending and all expected bytes are written. Completed, the
//   barrier is at once in the next phase, with the same number of arrivals. A wait names the parity of a phase: the
//   first is 0, the second 1, the third 0 ... and ends when the phase of that parity is complete; so parity 1 passes on
//   a fresh barrier. A waiting thread sees what was written before the arrivals, and the bytes; where they are another
//   block's, by mbarrier_wait_cluster() of common/ptx/cluster.cuh.
//
// Before a thread that did not initialise a barrier, the copy engine included, may use it: fence_mbarrier_init() by the
// thread that did, then a block barrier.
#pragma once
#include <cuda_runtime.h>

#include <cstdint>

#include "common/tile.cuh"

namespace lab::ptx {

// 8 bytes of shared memory, opaque.
struct alignas(8) MBarrier {
  std::uint64_t state;
};

// mbarrier.init.shared::cta.b64: by one thread, once.
__device__ __forceinline__ void mbarrier_init(MBarrier& barrier, unsigned arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" : : "r"(shared_address(&barrier)), "r"(arrivals) : "memory");
}

// mbarrier.arrive.shared::cta.b64: one arrival, of the calling thread alone.
__device__ __forceinline__ void mbarrier_arrive(MBarrier& barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" : : "r"(shared_address(&barrier)) : "memory");
}

// The same under a predicate: the lanes with `yes` arrive, and none of them branches.
__device__ __forceinline__ void mbarrier_arrive_if(bool yes, MBarrier& barrier) {
  asm volatile(
      "{\n"
      ".reg .pred arrives;\n"
      "setp.ne.u32 arrives, %1, 0;\n"
      "@arrives mbarrier.arrive.shared::cta.b64 _, [%0];\n"
      "}\n"
      :
      : "r"(shared_address(&barrier)), "r"(unsigned(yes))
      : "memory");
}

// mbarrier.arrive.expect_tx.shared::cta.b64: the phase also waits for `bytes` more bytes, and counts one arrival.
__device__ __forceinline__ void mbarrier_arrive_expect_tx(MBarrier& barrier, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
               :
               : "r"(shared_address(&barrier)), "r"(bytes)
               : "memory");
}

// mbarrier.try_wait.parity.shared::cta.b64: true if the phase of that parity is complete; may first sleep a while.
__device__ __forceinline__ bool mbarrier_try_wait(MBarrier& barrier, unsigned parity) {
  unsigned done;
  asm volatile(
      "{\n"
      ".reg .pred complete;\n"
      "mbarrier.try_wait.parity.shared::cta.b64 complete, [%1], %2;\n"
      "selp.u32 %0, 1, 0, complete;\n"
      "}\n"
      : "=r"(done)
      : "r"(shared_address(&barrier)), "r"(parity)
      : "memory");
  return done != 0;
}

// Returns when the phase of that parity is complete.
__device__ __forceinline__ void mbarrier_wait(MBarrier& barrier, unsigned parity) {
  while (!mbarrier_try_wait(barrier, parity)) {
  }
}

// fence.mbarrier_init.release.cluster: what this thread has initialised may be used by the copy engine, and, after a
// barrier, by others.
__device__ __forceinline__ void fence_mbarrier_init() {
  asm volatile("fence.mbarrier_init.release.cluster;" : : : "memory");
}

}  // namespace lab::ptx
