#include <cuda_runtime.h>

__device__ int lock;
// Block 0 takes the lock without a fence behind it: seen where block 1 has had the lock before.
__global__ void k(int* data) {
  while (atomicCAS(&lock, 0, 1) != 0) {}
  if (blockIdx.x == 1) __threadfence();
  data[0] += 1;
  __threadfence();
  atomicExch(&lock, 0);
}
int main() {
  int* data;
  cudaMalloc(&data, sizeof(int));
  cudaMemset(data, 0, sizeof(int));
  k<<<2, 1>>>(data);
  return cudaDeviceSynchronize();
}
