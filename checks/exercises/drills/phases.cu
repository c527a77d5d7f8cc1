// An mbarrier's phases: warp 0 writes a number, warp 1 reads it, five times, through one word of shared memory. `full`
// says that it is there, `empty` that it has been read. out[i] is in[i], written by warp 1.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "common/ptx/mbarrier.cuh"
#include "common/smem_plan.cuh"

__global__ void drill(const half* in, float* out) {
  constexpr int NUMBERS = 5;
  lab::SmemCursor cursor;
  float* word = cursor.array<float>("word", 1, 1);
  auto* full = cursor.array<lab::ptx::MBarrier>("full", 1, 1);
  auto* empty = cursor.array<lab::ptx::MBarrier>("empty", 1, 1);
  if (threadIdx.x == 0) {
    lab::ptx::mbarrier_init(full, 1);
    lab::ptx::mbarrier_init(empty, 1);
    lab::ptx::fence_mbarrier_init();
  }
  __syncthreads();
  const bool one = threadIdx.x % 32 == 0;
  for (int i = 0; i < NUMBERS && one; ++i) {
    if (threadIdx.x == 0) {
#ifdef SOLUTION
      lab::ptx::mbarrier_wait(empty, i % 2 ^ 1);
      *word = __half2float(in[i]);
      lab::ptx::mbarrier_arrive(full);
    } else {
      lab::ptx::mbarrier_wait(full, i % 2);
#else
      lab::ptx::mbarrier_wait(empty, 0);  // yours: which parity?
      *word = __half2float(in[i]);
      lab::ptx::mbarrier_arrive(full);
    } else {
      lab::ptx::mbarrier_wait(full, 0);  // yours: which parity?
#endif
      out[i] = *word;
      lab::ptx::mbarrier_arrive(empty);
    }
  }
}
