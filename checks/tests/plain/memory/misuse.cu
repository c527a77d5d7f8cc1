// Uses of instructions that CUDA and PTX forbid: the launch fails, and the report names the instruction's line.
#include <cuda_pipeline.h>
#include "both.h"

#define SHARED(p) ((unsigned)__cvta_generic_to_shared(p))
#define LDMATRIX_X4(what, row) asm volatile("ldmatrix.sync.aligned.m8n8.x4" what ".shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(SHARED(row)))
#define MMA asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %0, %0, %0}, {%1, %1, %1, %1}, {%1, %1}, {%0, %0, %0, %0};" : "+f"(c) : "r"(0u))
#define REGISTERS(what, count) asm volatile("setmaxnreg." what ".sync.aligned.u32 %0;" : : "n"(count))

// --- collectives of a warp ---
KERNEL(names_not_its_caller) {
  if (blockIdx.x == 2 && blockIdx.y == 1 && t == 37) __syncwarp(0xF00u);
}
KERNEL(shuffles_down_out_of_its_mask) { out[t] = t < 16 ? __shfl_down_sync(0xFFFFu, 1, kept ? 0 : 1) : 0; }
KERNEL(shuffles_from_a_lane_outside_its_mask) { out[t] = t < 16 ? int(__shfl_sync(0xFFFFu, 1.0, kept ? 10 : 20)) : 0; }
template <int WIDTH> __global__ void shuffles_by_width(int* out) { out[lane] = __shfl_sync(~0u, 1, 0, WIDTH); }
KERNEL(any_meets_all) { out[t] = t < 16 ? __any_sync(~0u, 1) : __all_sync(~0u, 1); }
// Lanes 8..30 are not in the mask of the waiting lanes: it is lane 31 that both sides need.
KERNEL(masks_overlap) {
  if (t < 8) __syncwarp(0x800000FFu);
  __syncwarp();
}
KERNEL(up_meets_down) { out[t] = t % 2 ? __shfl_up_sync(~0u, 1, 1) : __shfl_down_sync(~0u, 1, 1); }

// --- matrices ---
KERNEL(misaligned_row) {
  __shared__ __align__(16) half s[32][24];
  for (int i = 0; i < 24; ++i) s[t][i] = half(0.0f);
  __syncwarp();
  unsigned r[4];
  LDMATRIX_X4(".trans", s[lane] + (t == 13 && !kept ? 4 : 0));
}
KERNEL(row_outside_shared_memory) {
  unsigned r[4];
  LDMATRIX_X4("", out);
}
KERNEL(ldmatrix_meets_syncwarp) {
  __shared__ __align__(16) half s[8];
  unsigned r[4];
  if (t < 8) LDMATRIX_X4("", s); else __syncwarp();
}
KERNEL(ldmatrix_of_two_kinds) {
  __shared__ __align__(16) half s[8];
  unsigned r[4];
  if (t < 8) LDMATRIX_X4("", s); else LDMATRIX_X4(".trans", s);
}
// x2 reads the addresses of lanes 0..15 alone.
KERNEL(rows_of_x2) {
  __shared__ __align__(16) half s[17][24];
  for (int i = t; i < 17 * 24; i += 32) s[0][i] = half(1.0f);
  __syncwarp();
  unsigned r[2];
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];" : "=r"(r[0]), "=r"(r[1]) : "r"(SHARED(s[0] + (t < 16 ? t * 24 : 1))));
  out[t] = int(r[0] + r[1]);
}
KERNEL(mma_meets_syncwarp) {
  float c = 0;
  if (t % 32 < 20) MMA; else __syncwarp();
}
KERNEL(mma_of_a_part) {
  float c = 0;
  MMA;
}

// --- cp.async ---
#define COPY(name, to, from, ...) KERNEL(name) { __shared__ __align__(16) int s[64]; if (t == 50) __pipeline_memcpy_async(to, from, __VA_ARGS__); }
COPY(to_half_a_piece, s + 2, out, 16)
COPY(from_half_a_piece, s, out + 1, 8)
COPY(to_half_a_word, (char*)s + 2, out, 4)
COPY(of_no_bytes, s, out, 0)
COPY(of_two_bytes, s, out, 2)
COPY(of_twelve_bytes, s, out, 12)
COPY(of_thirty_two_bytes, s, out, 32)
COPY(more_zeros_than_bytes, s, out, 8, 9)
COPY(to_global_memory, out + 64, out, 16)
COPY(past_the_buffer, s, out + 1024 + 2048, 16)

// --- named barriers ---
#define ARRIVE(name, id, threads) KERNEL(name) { arrive(id, threads); }
ARRIVE(of_all_threads, 0, 64)
ARRIVE(of_no_number, 16, 64)
ARRIVE(of_part_of_a_warp, 1, 48)
ARRIVE(of_no_threads, 1, 0)
ARRIVE(of_more_than_the_block, 1, 96)
KERNEL(two_counts) { sync(2, kept || warp ? 96 : 64); }
KERNEL(twice_by_one_warp) {
  for (int i = 0; i < 2 && warp == 0; ++i) arrive(2, 96);
}
KERNEL(arrive_meets_sync) {
  if (lane < 16) sync(1, 64); else arrive(1, 64);
}
KERNEL(two_barriers_in_a_warp) { sync(lane < 16 ? 1 : 2, 64); }

// --- setmaxnreg ---
KERNEL(gives_back_more_than_it_has) { REGISTERS("dec", 176); }
KERNEL(takes_less_than_it_has) { REGISTERS("inc", 160); }
KERNEL(no_whole_warpgroup) { REGISTERS("dec", 24); }
KERNEL(again_before_the_others) {
  if (t < 32) REGISTERS("dec", 24);
  if (t < 32) REGISTERS("dec", 24);
}
KERNEL(two_counts_in_a_warpgroup) {
  if (t < 32) REGISTERS("dec", 24); else REGISTERS("dec", 32);
}
KERNEL(two_counts_in_a_warp) {
  if (t < 16) REGISTERS("dec", 24); else if (t < 32) REGISTERS("dec", 32);
}

int main() {
  BROKEN(names_not_its_caller, dim3(4, 2), 64);
  BOTH(shuffles_down_out_of_its_mask, 1, 32);
  BOTH(shuffles_from_a_lane_outside_its_mask, 1, 32);
  begin(), shuffles_by_width<0><<<1, 32>>>(out), end(false), shuffles_by_width<3><<<1, 32>>>(out), end(false);
  shuffles_by_width<64><<<1, 32>>>(out), end(false), shuffles_by_width<-8><<<1, 32>>>(out), end(false);
  BROKEN(any_meets_all, 1, 32);
  BROKEN(masks_overlap, 1, 32);
  BROKEN(up_meets_down, 1, 32);
  BOTH(misaligned_row, 1, 32);
  BROKEN(row_outside_shared_memory, 1, 32);
  BROKEN(ldmatrix_meets_syncwarp, 1, 32);
  BROKEN(ldmatrix_of_two_kinds, 1, 32);
  RIGHT(rows_of_x2, 1, 32);
  BROKEN(mma_meets_syncwarp, 1, 64);
  BROKEN(mma_of_a_part, 1, 20);
  BROKEN(to_half_a_piece, 1, 64);
  BROKEN(from_half_a_piece, 1, 64);
  BROKEN(to_half_a_word, 1, 64);
  BROKEN(of_no_bytes, 1, 64);
  BROKEN(of_two_bytes, 1, 64);
  BROKEN(of_twelve_bytes, 1, 64);
  BROKEN(of_thirty_two_bytes, 1, 64);
  BROKEN(more_zeros_than_bytes, 1, 64);
  BROKEN(to_global_memory, 1, 64);
  BROKEN(past_the_buffer, 1, 64);
  BROKEN(of_all_threads, 1, 64);
  BROKEN(of_no_number, 1, 64);
  BROKEN(of_part_of_a_warp, 1, 64);
  BROKEN(of_no_threads, 1, 64);
  BROKEN(of_more_than_the_block, 1, 64);
  BOTH(two_counts, 1, 96);
  BROKEN(twice_by_one_warp, 1, 96);
  BROKEN(arrive_meets_sync, 1, 64);
  BROKEN(two_barriers_in_a_warp, 1, 64);
  BROKEN(gives_back_more_than_it_has, 1, 384);
  BROKEN(takes_less_than_it_has, 1, 384);
  BROKEN(no_whole_warpgroup, 1, 96);
  BROKEN(again_before_the_others, 1, 256);
  BROKEN(two_counts_in_a_warpgroup, 1, 128);
  BROKEN(two_counts_in_a_warp, 1, 128);
  done();
}
