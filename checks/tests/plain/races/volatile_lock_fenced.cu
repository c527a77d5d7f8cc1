#include <cuda_runtime.h>

__device__ int lock;
// volatile_lock.cu, mended.
__global__ void k(volatile int* data) {
  while (atomicCAS(&lock, 0, 1) != 0) {}
  __threadfence();
  data[0] = 1 + blockIdx.x;
  __threadfence();
  atomicExch(&lock, 0);
}
int main() {
  int* data;
  cudaMalloc(&data, sizeof(int));
  k<<<2, 1>>>(data);
  return cudaDeviceSynchronize();
}
