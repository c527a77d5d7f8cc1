#include <cuda_runtime.h>
#include <cstdio>

__global__ void k(int* g, int n) {
  if (threadIdx.x >= n) return;
  g[threadIdx.x] = 1;
}
// A return outside kernels, behind one.
void launch(int* g, int n) {
  if (n == 0) return;
  k<<<1, 64>>>(g, n);
}
int main() {
  int* g;
  cudaMalloc(&g, 64 * sizeof(int));
  launch(g, 0);
  launch(g, 40);
  std::printf("%d\n", int(cudaDeviceSynchronize()));
}
