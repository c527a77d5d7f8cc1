#include <cuda_runtime.h>

__device__ int lock;
// The fence before the lock is given back is missing. The data is volatile, and that orders nothing.
__global__ void k(volatile int* data) {
  while (atomicCAS(&lock, 0, 1) != 0) {}
  __threadfence();
  data[0] = 1 + blockIdx.x;
  atomicExch(&lock, 0);
}
int main() {
  int* data;
  cudaMalloc(&data, sizeof(int));
  k<<<2, 1>>>(data);
  return cudaDeviceSynchronize();
}
