// Two copies of 16 bytes, and 16 announced: the phase ends before the second has arrived.
#include <cuda_runtime.h>
#include <cstdio>
__global__ void k(const float* x) {
  __shared__ alignas(16) float s[8];
  __shared__ unsigned long long full;
  const unsigned to = __cvta_generic_to_shared(s), barrier = __cvta_generic_to_shared(&full);
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;\n fence.mbarrier_init.release.cluster;" ::"r"(barrier) : "memory");
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 16;" ::"r"(barrier) : "memory");
  for (int i = 0; i < 2; ++i)
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 16, [%2];" ::"r"(to + 16 * i), "l"(x + 4 * i), "r"(barrier) : "memory");
  int done = 0;
  while (!done)
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.b32 %0, 1, 0, p; }" : "=r"(done) : "r"(barrier) : "memory");
}
int main() { float* d; cudaMalloc(&d, 256); cudaMemset(d, 0, 256); k<<<1, 1>>>(d); printf("-> %s\n", cudaGetErrorName(cudaDeviceSynchronize())); return 0; }
