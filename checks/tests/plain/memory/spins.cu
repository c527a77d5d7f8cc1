// Waits that cannot end, and what is said of them; a launch that has failed leaves nothing behind for the next one.
#include "both.h"

KERNEL(on_a_flag) {
  while (((volatile int*)out)[0] == 0) {}
}
KERNEL(on_a_lock) {
  while (atomicCAS(&out[0], 0, 1) != 0) {}
}
KERNEL(on_a_turn) {
  unsigned seen;
  do asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(out) : "memory");
  while (seen != blockIdx.x + 1);
}
KERNEL(at_a_block_barrier) {
  if (t >= 34 && t < 40 && !kept) __syncwarp(0xFFCu);  // lanes 8..11 are at the barrier
  __syncthreads();
  out[64 * blockIdx.x + t] = 1;
}
KERNEL(at_a_named_barrier) {
  if (t < 32 || kept) sync(3, 64);
  out[t] = 1;
}
template <bool kept> __global__ __cluster_dims__(2) void at_a_cluster_barrier(int* out) {
  if (t < 32 || blockIdx.x == 0 || kept) asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" : : : "memory");
  __syncthreads();
  out[64 * blockIdx.x + t] = 1;
}

int main() {
  BROKEN(on_a_flag, 1, 8);
  BROKEN(on_a_lock, 1, 8);
  BROKEN(on_a_turn, 3, 1);
  BOTH(at_a_block_barrier, 3, 64);
  BOTH(at_a_named_barrier, 1, 64);
  BOTH(at_a_cluster_barrier, 2, 64);
  done();
}
