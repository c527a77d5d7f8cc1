// Order between threads at shared memory: __syncthreads, __syncwarp, named barriers.
#include "both.h"

__device__ __forceinline__ int* zeroed() {
  __shared__ int s[64];
  for (unsigned i = t; i < 64; i += blockDim.x) s[i] = 0;
  __syncthreads();
  return s;
}

KERNEL(warp_barrier_orders_no_other_warp) {
  int* s = zeroed();
  if (t == 3) s[21] = 1;
  if (kept) __syncthreads(); else __syncwarp();
  if (t == 41) out[41] = s[21];
}
KERNEL(two_readers_of_which_one_writes) {
  int* s = zeroed();
  if (lane == 3 || lane == 6) out[lane] = s[21];
  if (kept) __syncwarp(); else __shfl_sync(~0u, 1, 0);
  if (lane == 3) s[21] = 1;
}
KERNEL(readers_before_and_after_a_barrier) {
  int* s = zeroed();
  out[lane] = s[21];
  __syncwarp();
  if (lane == 6) out[6] += s[21];
  if (kept) __syncwarp();
  if (lane == 9) s[21] = 1;
}
// Collectives that order no lanes.
KERNEL(shuffles_votes_products) {
  int* s = zeroed();
  if (lane == 3) s[21] = 1;
  __shfl_xor_sync(~0u, __shfl_sync(~0u, 1, 3), 1);
  __ballot_sync(~0u, 1), __any_sync(~0u, 1), __all_sync(~0u, 1);
  unsigned r;
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(r) : "r"((unsigned)__cvta_generic_to_shared(s + 32 + 4 * (lane % 8))));
  float c[4] = {};
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %4, %4, %4}, {%4, %4}, {%0, %1, %2, %3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(0u));
  if (kept) __syncwarp();
  if (lane == 9) out[9] = s[21];
}

// --- __syncwarp of some lanes ---
KERNEL(half_a_warp) {
  int* s = zeroed();
  if (lane == 2) s[21] = 1;
  __syncwarp(lane < 16 ? 0xFFFFu : 0xFFFF0000u);
  if (lane == (kept ? 7 : 20)) out[lane] = s[21];
}
#define MEET(one, other) if (lane == one || lane == other) __syncwarp(1u << one | 1u << other)
// 0 before 1 before 2; or 1 meets 2 before it has heard of 0.
KERNEL(chain_of_lanes) {
  int* s = zeroed();
  if (lane == 0) s[21] = 1;
  if (kept) MEET(0, 1);
  MEET(1, 2);
  if (!kept) MEET(0, 1);
  if (lane == 2) out[2] = s[21];
}
// Knowledge of 0's past says nothing of its later accesses.
KERNEL(met_before_the_write) {
  int* s = zeroed();
  MEET(0, 1);
  __syncwarp();
  if (lane == 0) s[21] = 1;
  if (kept) MEET(0, 1);
  if (lane == 1) out[1] = s[21];
}
// Lane 1 reads before 0 does, which reads in a later state than 2; and once more after all that 0 knows of it.
KERNEL(one_of_three_readers) {
  int* s = zeroed();
  if (lane < 2) out[lane] = s[21];
  MEET(0, 1);
  if (lane == 1) __syncwarp(0x2u);
  if (lane < 3 && !(kept && lane == 1)) out[lane] += s[21];
  if (lane == 0 || lane == 2 || lane == 3) __syncwarp(0xDu);
  if (lane == 3) s[21] = 1;
}

// --- named barriers ---
KERNEL(orders_its_warps_alone) {
  int* s = zeroed();
  if (t == 3) s[21] = 1;
  if (warp == 0) arrive(1, 64);
  if (warp == 1) sync(1, 64);
  if (t == (kept ? 41 : 70)) out[0] = s[21];
}
KERNEL(arrive_acquires_nothing) {
  int* s = zeroed();
  if (t == 3) s[21] = 1;
  if ((warp == 0) == kept) arrive(1, 64); else sync(1, 64);
  if (t == 41) out[41] = s[21];
}
KERNEL(arrive_orders_no_lanes) {
  int* s = zeroed();
  if (t == 3) s[21] = 1;
  if (warp == 0 && !kept) arrive(1, 64); else sync(1, 64);
  if (t == 9) out[9] = s[21];
}
// Warp 1 passes on what it has heard of warp 0, or what it had before.
KERNEL(chain_of_warps) {
  int* s = zeroed();
  if (t == 3) s[21] = 1;
  if (warp == 0) arrive(1, 64);
  if (warp == 1 && !kept) arrive(2, 64);
  if (warp == 1) sync(1, 64);
  if (warp == 1 && kept) arrive(2, 64);
  if (warp == 2) sync(2, 64);
  if (t == 73) out[73] = s[21];
}
KERNEL(written_after_arrive) {
  int* s = zeroed();
  if (warp == 0 && !kept) arrive(1, 64);
  if (t == 3) s[21] = 1;
  if (warp == 0 && kept) arrive(1, 64);
  if (warp == 1) sync(1, 64);
  if (t == 41) out[41] = s[21];
}
// First for warps 0 and 1, then for 2 and 3: the second use knows nothing of the first.
KERNEL(reused_by_others) {
  int* s = zeroed();
  if (t == 3) s[21] = 1;
  sync(1, 64);
  if (t == (kept ? 41 : 105)) out[0] = s[21];
}
// Two warps read; the writer waits for both, or forgets one.
KERNEL(readers_of_two_warps) {
  int* s = zeroed();
  if (warp == 2 || (warp == 1 && kept)) out[t] = s[21];
  if (warp == 1) out[t] = s[21];
  const int counted = kept ? 96 : 64;
  if (warp == 0) sync(1, counted);
  if (warp == 1 || (warp == 2 && kept)) arrive(1, counted);
  if (t == 3) s[21] = 1;
}
// The reads of warp 2 that matter come after its last arrival, among reads of warp 1 that are ordered.
KERNEL(second_round) {
  int* s = zeroed();
  if (warp) out[t] = s[21];
  sync(1, 96);
  if (warp == 1) out[t] += s[21];
  if (warp == 2) out[t] += s[21];
  const int counted = kept ? 96 : 64;
  if (warp == 1 || (warp == 2 && kept)) arrive(2, counted);
  if (warp == 0) sync(2, counted);
  if (t == 3) s[21] = 1;
}

int main() {
  BOTH(warp_barrier_orders_no_other_warp, 1, 96);
  BOTH(two_readers_of_which_one_writes, 1, 32);
  BOTH(readers_before_and_after_a_barrier, 1, 32);
  BOTH(shuffles_votes_products, 1, 32);
  BOTH(half_a_warp, 1, 32);
  BOTH(chain_of_lanes, 1, 32);
  BOTH(met_before_the_write, 1, 32);
  BOTH(one_of_three_readers, 1, 32);
  BOTH(orders_its_warps_alone, 1, 96);
  BOTH(arrive_acquires_nothing, 1, 64);
  BOTH(arrive_orders_no_lanes, 1, 64);
  BOTH(chain_of_warps, 1, 96);
  BOTH(written_after_arrive, 1, 64);
  BOTH(reused_by_others, 1, 128);
  BOTH(readers_of_two_warps, 1, 96);
  BOTH(second_round, 1, 96);
  done();
}
