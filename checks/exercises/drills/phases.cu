// An mbarrier's phases: warp 0 writes a number, warp 1 reads it, five times, through one word of shared memory. `full`
// says that the number is there, `empty` that it has been read. out[i] is in[i], written by warp 1.
#include "checks/exercises/drills/drill.cuh"
#include "common/ptx/mbarrier.cuh"

using namespace lab;

constexpr int NUMBERS = 5;

__global__ void pass_on(const half* in, float* out) {
  __shared__ float word;
  __shared__ ptx::MBarrier full, empty;
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(full, 1);
    ptx::mbarrier_init(empty, 1);
    ptx::fence_mbarrier_init();
  }
  __syncthreads();
  const bool one = threadIdx.x % 32 == 0;
  for (int i = 0; i < NUMBERS && one; ++i) {
    if (threadIdx.x == 0) {
#ifdef SOLUTION
      ptx::mbarrier_wait(empty, i % 2 ^ 1);
      word = __half2float(in[i]);
      ptx::mbarrier_arrive(full);
    } else {
      ptx::mbarrier_wait(full, i % 2);
#else
      ptx::mbarrier_wait(empty, 0);  // yours: which parity?
      word = __half2float(in[i]);
      ptx::mbarrier_arrive(full);
    } else {
      ptx::mbarrier_wait(full, 0);  // yours: which parity?
#endif
      out[i] = word;
      ptx::mbarrier_arrive(empty);
    }
  }
}

cudaError_t drill(const half* in, float* out, const int*, cudaStream_t stream) {
  pass_on<<<1, 64, 0, stream>>>(in, out);
  return cudaGetLastError();
}
