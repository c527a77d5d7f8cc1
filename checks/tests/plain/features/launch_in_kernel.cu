#include <cuda_runtime.h>
__global__ void inner(int* g) { g[0] = 1; }
__global__ void outer(int* g) { inner<<<1, 1>>>(g); }
int main() {
  int* g;
  cudaMalloc(&g, sizeof(int));
  outer<<<1, 1>>>(g);
  return cudaDeviceSynchronize();
}
