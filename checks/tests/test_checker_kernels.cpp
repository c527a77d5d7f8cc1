// Order between threads: kernels that keep a rule and kernels that break it (checks/tests/checked.hpp).
#include <cuda_fp16.h>
#include <mma.h>

#include "checks/tests/checked.hpp"
#include "common/warp.cuh"

namespace lab::checked {
namespace {

using enum Finding::Kind;
constexpr Size SIZE{96, 256, 1, 1};

// --- order between warps -------------------------------------------------------------------------

CHECKED(inter_write_read, ascending(race(writes("write", 0, 3), reads("read", 1, 9), "s[5][1]")),
        descending(race(reads("read", 1, 9), writes("write", 0, 3), "s[5][1]")), races(inter, "write", "read")) {
  write_then_read(out, 3, 41, [] {});
}

CHECKED(inter_write_write, ascending(race(writes("one", 0, 3), writes("other", 2, 6), "s[5][1]")),
        descending(race(writes("other", 2, 6), writes("one", 0, 3), "s[5][1]")), races(inter, "one", "other")) {
  float* s = zeroed();
  if (threadIdx.x == 3) s[21] = 1.0f;   // [one]
  if (threadIdx.x == 70) s[21] = 2.0f;  // [other]
}

CHECKED(inter_read_write_many,
        ascending(race(writes("write", 0, 31), reads("read", 1, 0), "s[8][0]", 6 * 96), {96, 256, 6})) {
  float* s = zeroed();
  out[blockIdx.x * blockDim.x + threadIdx.x] = int(s[threadIdx.x % 64]);  // [read]
  if (threadIdx.x < 64) s[63 - threadIdx.x] = 1.0f;                       // [write]
}

CHECKED(inter_with_barriers, silent(), silent({1024})) {
  float* s = zeroed();
  for (int round = 0; round < 3; ++round) {
    if (threadIdx.x == unsigned(3 + 32 * (round % 2))) s[21] = float(round);
    __syncthreads();
    out[threadIdx.x] += int(s[21]);
    __syncthreads();
  }
}

CHECKED(inter_shuffles_order_nothing, races(inter, "write", "read")) {
  write_then_read(out, 3, 41, [] {
    warp_sum(1.0f);
    __syncwarp();
    __shfl_sync(FULL_WARP, 1, 0);
  });
}

// --- order inside a warp -------------------------------------------------------------------------

CHECKED(intra_write_read, ascending(race(writes("write", 1, 3), reads("read", 1, 9), "s[5][1]")),
        descending(race(reads("read", 1, 9), writes("write", 1, 3), "s[5][1]")), races(intra, "write", "read")) {
  write_then_read(out, 35, 41, [] {});
}

CHECKED(intra_write_write, ascending(race(writes("one", 1, 3), writes("other", 1, 9), "s[5][1]")),
        races(intra, "one", "other")) {
  float* s = zeroed();
  if (threadIdx.x == 35) s[21] = 1.0f;  // [one]
  if (threadIdx.x == 41) s[21] = 2.0f;  // [other]
}

CHECKED(intra_read_write, ascending(race(reads("read", 1, 3), writes("write", 1, 9), "s[5][1]")),
        races(intra, "read", "write")) {
  float* s = zeroed();
  if (threadIdx.x == 35) out[35] = int(s[21]);  // [read]
  if (threadIdx.x == 41) s[21] = 2.0f;          // [write]
}

CHECKED(full_sync_orders, silent()) {
  float* s = zeroed();
  float* own = s + threadIdx.x / 32 * 16;
  for (int round = 0; round < 3; ++round) {
    if (threadIdx.x % 32 == unsigned(round)) own[5] = float(round);
    __syncwarp();
    out[threadIdx.x] += int(own[5]);
    __syncwarp();
  }
}

CHECKED(missing_second_sync, races(intra, "read", "write", {32})) {
  float* s = zeroed();
  for (int round = 0; round < 2; ++round) {
    if (threadIdx.x == unsigned(round)) s[5] = float(round);  // [write]
    __syncwarp();
    out[threadIdx.x] += int(s[5]);  // [read]
  }
}

// Nor do these order lanes.
constexpr Expect lanes_race() { return races(intra, "write", "read", {32}); }
constexpr Expect lanes_race_so() {
  return ascending(race(writes("write", 0, 3), reads("read", 0, 9), "s[5][1]"), {32});
}
CHECKED(shuffle_orders_nothing, lanes_race(), lanes_race_so()) {
  write_then_read(out, 3, 9, [] { __shfl_xor_sync(FULL_WARP, __shfl_sync(FULL_WARP, 1, 3), 1); });
}
CHECKED(vote_orders_nothing, lanes_race(), lanes_race_so()) {
  write_then_read(out, 3, 9, [] { __ballot_sync(FULL_WARP, 1), __any_sync(FULL_WARP, 1), __all_sync(FULL_WARP, 1); });
}
CHECKED(reduction_orders_nothing, lanes_race(), lanes_race_so()) {
  write_then_read(out, 3, 9, [] { warp_sum(1.0f), warp_max(2.0f); });
}

using Accumulator = nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float>;
using OperandA = nvcuda::wmma::fragment<nvcuda::wmma::matrix_a, 16, 16, 16, half, nvcuda::wmma::row_major>;
CHECKED(wmma_store_unordered, races(intra, "store", "read", {32, 1024})) {
  float* tile = array<float>("tile", 16, 16);
  for (int i = 0; i < 8; ++i) tile[32 * i + threadIdx.x] = 0.0f;
  __syncwarp();
  Accumulator c;
  nvcuda::wmma::fill_fragment(c, 2.0f);
  nvcuda::wmma::store_matrix_sync(tile, c, 16, nvcuda::wmma::mem_row_major);        // [store]
  for (int i = 0; i < 8; ++i) out[threadIdx.x] += int(tile[32 * i + threadIdx.x]);  // [read]
}

CHECKED(wmma_store_synced, silent({32, 1024})) {
  float* tile = array<float>("tile", 16, 16);
  Accumulator c;
  nvcuda::wmma::fill_fragment(c, 2.0f);
  nvcuda::wmma::store_matrix_sync(tile, c, 16, nvcuda::wmma::mem_row_major);
  __syncwarp();
  for (int i = 0; i < 8; ++i) out[threadIdx.x] += int(tile[32 * i + threadIdx.x]);
}

CHECKED(wmma_load_unordered, races(intra, "write", "load", {32, 512})) {
  half* tile = written_tile();
  for (int i = 0; i < 8; ++i) tile[32 * i + threadIdx.x] = half(1.0f);  // [write]
  OperandA a;
  nvcuda::wmma::load_matrix_sync(a, tile, 16);  // [load]
  out[threadIdx.x] = int(float(a.x[0]));
}

CHECKED(wmma_load_uninitialised, ascending(alone(uninitialised, reads("load", 0, 24), "tile[14][0]", 32), {32, 512})) {
  half* tile = written_tile(14);
  OperandA a;
  nvcuda::wmma::load_matrix_sync(a, tile, 16);  // [load]
  out[threadIdx.x] = int(float(a.x[0]));
}

CHECKED(wmma_load_past_end,
        ascending(alone(out_of_bounds, reads("load", 0, 28), "tile[16][0], past the end of tile (16 rows)", 16),
                  {32, 512})) {
  half* tile = written_tile();
  OperandA a;
  nvcuda::wmma::load_matrix_sync(a, tile + 16, 16);  // [load]
  out[threadIdx.x] = int(float(a.x[0]));
}

// --- __syncwarp of some lanes --------------------------------------------------------------------

CHECKED(partial_orders_its_lanes, silent({32})) {
  float* s = zeroed();
  if (threadIdx.x >= 16) return;
  if (threadIdx.x == 2) s[21] = 1.0f;
  __syncwarp(0x0000FFFFu);
  if (threadIdx.x == 7) out[7] = int(s[21]);
  __syncwarp(0x0000FFFFu);
  if (threadIdx.x == 15) s[21] = 2.0f;
  __syncwarp(0x0000FFFFu);
  if (threadIdx.x == 0) s[21] = 3.0f;
}

CHECKED(partial_orders_no_others, races(intra, "write", "read", {32})) {
  write_then_read(out, 2, 20, [] { __syncwarp(threadIdx.x < 16 ? 0x0000FFFFu : 0xFFFF0000u); });
}

CHECKED(both_halves, silent({32})) {
  float* s = zeroed();
  const unsigned mask = threadIdx.x < 16 ? 0x0000FFFFu : 0xFFFF0000u;
  for (int round = 0; round < 4; ++round) {
    s[threadIdx.x] = float(round);
    __syncwarp(mask);
    out[threadIdx.x] += int(s[threadIdx.x ^ (1 << round)]);
    __syncwarp(mask);
  }
  __syncwarp();
  out[threadIdx.x] += int(s[threadIdx.x ^ 16]);
}

CHECKED(chain, silent({32})) {  // 0 before 1 before 2
  write_then_read(out, 0, 2, [] {
    if (threadIdx.x < 2) __syncwarp(0x3u);
    if (threadIdx.x == 1 || threadIdx.x == 2) __syncwarp(0x6u);
  });
}

CHECKED(chain_of_four, silent({32})) {
  float* s = zeroed();
  if (threadIdx.x == 30) s[21] = 1.0f;
  if (threadIdx.x == 30 || threadIdx.x == 4) __syncwarp(0x40000010u);
  if (threadIdx.x == 4) out[4] = int(s[21]);
  if (threadIdx.x == 4 || threadIdx.x == 17) __syncwarp(0x00020010u);
  if (threadIdx.x == 17 || threadIdx.x == 5) __syncwarp(0x00020020u);
  if (threadIdx.x == 5) s[21] = 2.0f;  // after the write of 30 and the read of 4
}

CHECKED(chain_backwards, races(intra, "write", "read", {32})) {  // 1 meets 2 before it has heard of 0
  write_then_read(out, 0, 2, [] {
    if (threadIdx.x == 1 || threadIdx.x == 2) __syncwarp(0x6u);
    if (threadIdx.x < 2) __syncwarp(0x3u);
  });
}

CHECKED(chain_too_late, races(intra, "write", "read", {32})) {  // 0 writes after it has met 1
  float* s = zeroed();
  if (threadIdx.x < 2) __syncwarp(0x3u);
  if (threadIdx.x == 0) s[21] = 1.0f;  // [write]
  if (threadIdx.x == 1 || threadIdx.x == 2) __syncwarp(0x6u);
  if (threadIdx.x == 2) out[2] = int(s[21]);  // [read]
}

CHECKED(own_sync_is_no_order, races(intra, "write", "read", {32})) {
  write_then_read(out, 3, 9, [] { __syncwarp(1u << threadIdx.x); });
}

CHECKED(stale_after_full_sync,
        races(intra, "write", "read", {32})) {  // what 1 knew of 0 says nothing of what 0 does later
  float* s = zeroed();
  if (threadIdx.x < 2) __syncwarp(0x3u);
  if (threadIdx.x < 2) __syncwarp(0x3u);
  __syncwarp();
  if (threadIdx.x == 0) s[21] = 1.0f;         // [write]
  if (threadIdx.x == 1) out[1] = int(s[21]);  // [read]
}

CHECKED(mixed_readers_ordered, silent({32})) {
  float* s = zeroed();
  const unsigned lane = threadIdx.x;
  if (lane < 2) out[lane] = int(s[21]);
  if (lane < 2) __syncwarp(0x3u);
  if (lane == 0 || lane == 2) out[lane] += int(s[21]);  // 0 in a later state than 2
  if (lane == 0 || lane == 2 || lane == 3) __syncwarp(0xDu);
  if (lane == 3) s[21] = 1.0f;  // after all three: 1 is before 0
}

CHECKED(mixed_readers_one_forgotten, races(intra, "read", "write", {32}),
        ascending(race(reads("read", 0, 1), writes("write", 0, 3), "s[5][1]"), {32})) {
  float* s = zeroed();
  const unsigned lane = threadIdx.x;
  if (lane < 2) out[lane] = int(s[21]);
  if (lane < 2) __syncwarp(0x3u);
  if (lane == 1) __syncwarp(0x2u);
  if (lane < 3) out[lane] += int(s[21]);  // [read] by lane 1 too, after all that 0 knows of it
  if (lane == 0 || lane == 2 || lane == 3) __syncwarp(0xDu);
  if (lane == 3) s[21] = 1.0f;  // [write]
}

CHECKED(readers_before_and_after_sync, races(intra, "read", "write", {32}),
        ascending(race(reads("read", 0, 6), writes("write", 0, 9), "s[5][1]"), {32})) {
  float* s = zeroed();
  out[threadIdx.x] = int(s[21]);
  __syncwarp();
  if (threadIdx.x == 6) out[6] += int(s[21]);  // [read]
  if (threadIdx.x == 9) s[21] = 1.0f;          // [write]
}

CHECKED(two_readers_one_writes, ascending(race(reads("read", 0, 6), writes("write", 0, 3), "s[5][1]"), {32}),
        descending(race(reads("read", 0, 6), writes("write", 0, 3), "s[5][1]"), {32})) {
  float* s = zeroed();
  if (threadIdx.x == 3 || threadIdx.x == 6) out[threadIdx.x] = int(s[21]);  // [read]
  out[threadIdx.x] += __shfl_sync(FULL_WARP, 1, 0);
  if (threadIdx.x == 3) s[21] = 1.0f;  // [write]
}

// --- a line that a patch added: the last kernel, for the numbers are not this file's from here on ------------

CHECKED(added_by_patch, ELSEWHERE) {
  float* s = zeroed();
  if (threadIdx.x == 41) out[41] = int(s[21]);  // [read]
#line 8 "checks/tests/sample.patch"
  if (threadIdx.x == 3) s[21] = 1.0f;
}

}  // namespace
}  // namespace lab::checked
