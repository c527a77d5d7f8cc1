// Global memory, between the blocks of a launch, in three orders of blocks.
#include "both.h"

#define b blockIdx.x
#define sums ((float*)out)

KERNEL(own_elements) { out[32 * b + t] = int(b); }
KERNEL(all_read) { out[1 + 32 * b + t] = out[0]; }
// Three blocks at two words, each with a half of one.
KERNEL(own_halves) {
  if (t == 0) ((half*)out)[b] = half(1.0f);
}
KERNEL(written_twice) {
  if (t == 3) out[5] = int(b);
}
// All read, one writes: whichever comes last.
KERNEL(read_then_written) {
  if (t == 3) out[8 + b] = out[5];
  if (t == 3 && b == 1) out[5] = 2;
}

// --- atomics ---
KERNEL(atomic_sums) { atomicAdd(&sums[t], float(1 << b)); }
KERNEL(sums_of_four) {
  if (t % 4 == 0)
    asm volatile("red.global.add.v4.f32 [%0], {%1, %1, %1, %1};" : : "l"(&sums[t]), "f"(float(1 << b)) : "memory");
}
// Every thread draws a number once: out[1 + number] counts how often it came.
KERNEL(tickets) { atomicAdd(&out[1 + atomicAdd(&out[0], 1)], 1); }
// Block 0's own atomic sum does not hide that it has zeroed what block 1 adds to.
KERNEL(zeroed_by_one) {
  if (t == 3 && b == 0) sums[5] = 0.0f;
  if (t == 3) atomicAdd(&sums[5], 1.0f);
}
KERNEL(read_of_a_sum) {
  if (t == 3) atomicAdd(&sums[5], 1.0f);
  if (t == 3 && b == 1) out[6] = out[5];
}
KERNEL(of_block_scope) {
  if (t == 0 && !kept) atomicAdd_block(&out[0], 1);
  if (t == 0 && kept) atomicAdd(&out[0], 1);
}
__device__ int tally[4];
KERNEL(variable) {
  if (t == 0 && !kept) tally[2] += 1;
  if (t == 0 && kept) atomicAdd(&tally[2], 1);
}
// Both the sum and the old value that atomicAdd returns would be subnormal: zero.
KERNEL(flushed_sum) {
  if (t || b) return;
  atomicAdd(&sums[0], 0x1p-126f), atomicAdd(&sums[0], -0x1.8p-126f);
  out[1] = atomicAdd(&sums[0], 0x1p-130f) == 0.0f && sums[0] == 0.0f;
}

// --- order by hand ---
// The last block sums (the CUDA guide's pattern). All threads of it read what one has found to be there.
KERNEL(last_block_sums) {
  __shared__ int last;
  if (t == 0) {
    out[1 + b] = int(b + 1);
    if (kept) __threadfence(); else __threadfence_block();
    last = atomicAdd(&out[0], 1) == 2;
  }
  __syncthreads();
  if (!last || t % 31) return;
  int sum = 0;
  for (int i = 0; i < 3; ++i) sum += ((volatile int*)out)[1 + i];
  out[16 + t / 31] = sum;
}
KERNEL(lock_released) {
  if (t) return;
  while (atomicCAS(&out[0], 0, 1) != 0) {}
  __threadfence();
  out[1] += 1;
  if (kept) __threadfence();
  atomicExch(&out[0], 0);
}
KERNEL(lock_acquired) {
  if (t) return;
  while (atomicCAS(&out[0], 0, 1) != 0) {}
  if (kept) __threadfence();
  out[1] += 1;
  __threadfence();
  atomicExch(&out[0], 0);
}
// Block b waits until the block after it has raised its flag: none could go on if not all were there.
KERNEL(waits_for_a_later_block) {
  if (t) return;
  while (b < 2 && ((volatile int*)out)[b + 1] == 0) {}
  __threadfence();
  out[32 + b] = b < 2 ? out[33 + b] + 1 : 1;
  __threadfence();
  ((volatile int*)out)[b] = 1;
}
// The blocks by turns: out[1 + b] is how many were before it.
#define AWAIT(turn) do asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(out) : "memory"); while (seen != turn)
#define PASS_ON asm volatile("red.release.gpu.global.add.u32 [%0], 1;" : : "l"(out) : "memory")
KERNEL(by_turns) {
  if (t) return;
  unsigned seen;
  AWAIT(b);
  if (!kept) PASS_ON;
  out[1 + b] = atomicAdd(&out[8], 1);
  out[9] += 1;
  if (kept) PASS_ON;
}
template <bool kept> __global__ __cluster_dims__(2) void blocks_of_a_cluster(int* out) {
  if (t == 0 && b == 0) out[0] = 1;
  if (kept) asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" : : : "memory");
  if (t == 9 && b == 1) out[1] = out[0];
}

int main() {
  RIGHT(own_elements, 3, 32);
  RIGHT(all_read, 3, 32);
  RIGHT(own_halves, 3, 32);
  BROKEN(written_twice, 3, 32);
  BROKEN(read_then_written, 3, 32);
  RIGHT(atomic_sums, 3, 32);
  RIGHT(sums_of_four, 3, 32);
  RIGHT(tickets, 3, 32);
  BROKEN(zeroed_by_one, 3, 32);
  BROKEN(read_of_a_sum, 3, 32);
  BOTH(of_block_scope, 3, 32);
  BOTH(variable, 3, 32);
  RIGHT(flushed_sum, 3, 32);
  BOTH(last_block_sums, 3, 64);
  BOTH(lock_released, 3, 32);
  BOTH(lock_acquired, 3, 32);
  RIGHT(waits_for_a_later_block, 3, 32);
  BOTH(by_turns, 3, 32);
  BOTH(blocks_of_a_cluster, 2, 32);
  // A launch may read and write what the one before wrote.
  begin();
  own_elements<true><<<3, 32>>>(out), atomic_sums<true><<<3, 32>>>(out), all_read<true><<<3, 32>>>(out), own_elements<true><<<3, 32>>>(out);
  end(true);
  done();
}
