// The GPU's poison_shared_memory(): shared memory keeps what the last kernel left in it, so a kernel that leaves NaN
// behind stands in for the CPU backend's fill. One block an SM, each with all the shared memory there is.
#include <cuda_runtime.h>

#include "common/backend.hpp"

namespace {

__global__ void fill_with_nan(int words) {
  extern __shared__ unsigned shared_words[];
  for (int i = threadIdx.x; i < words; i += blockDim.x) shared_words[i] = 0xFFFFFFFFu;
  __syncthreads();
  if (shared_words[words - 1 - threadIdx.x] != 0xFFFFFFFFu) __trap();  // keeps the stores from being optimised away
}

}  // namespace

// Whether the harness's own kernel, compiled for what stages are compiled for, has code for the GPU at hand.
namespace lab {
bool has_code_here() {
  cudaFuncAttributes attributes{};
  if (cudaFuncGetAttributes(&attributes, fill_with_nan) == cudaSuccess) return true;
  cudaGetLastError();  // not the next launch's
  return false;
}
}  // namespace lab

void lab::poison_shared_memory() {
  int multiprocessors = 0, bytes = 0;
  if (cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0) != cudaSuccess ||
      cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0) != cudaSuccess ||
      cudaFuncSetAttribute(fill_with_nan, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes) != cudaSuccess)
    return;
  fill_with_nan<<<multiprocessors, 1024, bytes>>>(bytes / 4);  // not waited for: another process could run in between
}
