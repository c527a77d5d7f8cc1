// Order between threads at shared memory: barriers, named barriers, warps, fragments (rules.hpp).
#include <mma.h>

#include "checks/tests/rules.hpp"
#include "common/ptx/barrier.cuh"
#include "common/ptx/mma.cuh"
#include "common/warp.cuh"

namespace lab::rules {
namespace {

using namespace ptx;
using enum Finding::Kind;
constexpr Group GROUP{{96, 512}};
constexpr Size WARP{32}, TWO{64}, FOUR{128};

// --- __syncthreads and __syncwarp ----------------------------------------------------------------

RULE(block_barrier, race(writes("write", 0, 3), reads("read", 1, 9), "s[21]").times(1)) {
  write_then_read(out, 3, 41, [=](int*) { kept ? __syncthreads() : void(); });
}

RULE(warp_barrier_orders_no_other_warp, race(writes("write", 0, 3), reads("read", 1, 9))) {
  write_then_read(out, 3, 41, [=](int*) { kept ? __syncthreads() : __syncwarp(); });
}

RULE(two_readers_of_which_one_writes, race(reads("read", 0, 6), writes("write", 0, 3), "s[21]").of(WARP)) {
  int* s = zeroed();
  if (lane() == 3 || lane() == 6) out[lane()] = s[21];  // [read]
  kept ? __syncwarp() : void(__shfl_sync(FULL_WARP, 1, 0));
  if (lane() == 3) s[21] = 1;  // [write]
}

RULE(readers_before_and_after_a_barrier, race(reads("read", 0, 6), writes("write", 0, 9)).of(WARP).if_ascending(),
     finds(intra, "read", "write").of(WARP)) {
  int* s = zeroed();
  out[lane()] = s[21];
  __syncwarp();
  if (lane() == 6) out[6] += s[21];  // [read]
  if (kept) __syncwarp();
  if (lane() == 9) s[21] = 1;  // [write]
}

// Collectives that order no lanes.
RULE(shuffles_votes_products, race(writes("write", 0, 3), reads("read", 0, 9)).of(WARP)) {
  write_then_read(out, 3, 9, [=](const int* s) {
    __shfl_xor_sync(FULL_WARP, __shfl_sync(FULL_WARP, 1, 3), 1);
    __ballot_sync(FULL_WARP, 1), __any_sync(FULL_WARP, 1), __all_sync(FULL_WARP, 1);
    warp_sum(1.0f), warp_max(2.0f);
    unsigned r[1];
    ldmatrix_x1(r, reinterpret_cast<const half*>(s + 32 + 4 * (lane() % 8)));
    float c[4] = {};
    const unsigned a[4] = {}, b[2] = {};
    mma_m16n8k16(c, a, b);
    if (kept) __syncwarp();
  });
}

// --- __syncwarp of some lanes --------------------------------------------------------------------

RULE(half_a_warp, race(writes("write", 0, 2), reads("read", 0, 20)).of(WARP)) {
  write_then_read(out, 2, kept ? 7 : 20, [](int*) { __syncwarp(lane() < 16 ? 0x0000FFFFu : 0xFFFF0000u); });
}

__device__ __forceinline__ void meet(int one, int other) {
  if (lane() == one || lane() == other) __syncwarp(1u << one | 1u << other);
}
// 0 before 1 before 2; or 1 meets 2 before it has heard of 0.
RULE(chain_of_lanes, race(writes("write", 0, 0), reads("read", 0, 2)).of(WARP)) {
  write_then_read(out, 0, 2, [=](int*) {
    if (kept) meet(0, 1);
    meet(1, 2);
    if (!kept) meet(0, 1);
  });
}

// Knowledge of 0's past says nothing of its later accesses.
RULE(met_before_the_write, race(writes("write", 0, 0), reads("read", 0, 1)).of(WARP)) {
  int* s = zeroed();
  meet(0, 1), meet(0, 1);
  __syncwarp();
  if (lane() == 0) s[21] = 1;  // [write]
  if (kept) meet(0, 1);
  if (lane() == 1) out[1] = s[21];  // [read]
}

// Lane 1 reads before 0 does, which reads in a later state than 2; and once more after all that 0 knows of it.
RULE(one_of_three_readers, race(reads("read", 0, 1), writes("write", 0, 3)).of(WARP).if_ascending(),
     finds(intra, "read", "write").of(WARP)) {
  int* s = zeroed();
  if (lane() < 2) out[lane()] = s[21];
  meet(0, 1);
  if (lane() == 1) __syncwarp(0x2u);
  if (lane() < 3 && !(kept && lane() == 1)) out[lane()] += s[21];  // [read]
  if (lane() == 0 || lane() == 2 || lane() == 3) __syncwarp(0xDu);
  if (lane() == 3) s[21] = 1;  // [write]
}

// --- fragments -----------------------------------------------------------------------------------

using Accumulator = nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float>;
using OperandA = nvcuda::wmma::fragment<nvcuda::wmma::matrix_a, 16, 16, 16, half, nvcuda::wmma::row_major>;
__device__ __forceinline__ void load_fragment(int* out, const half* tile) {
  OperandA a;
  nvcuda::wmma::load_matrix_sync(a, tile, 16);  // [wmma]
  out[threadIdx.x] = int(float(a.x[0]));
}
// Row l % 16, columns 0..7 or 8..15: matrices 0 and 1 are the left half, 2 and 3 the right.
template <class Half>
__device__ __forceinline__ Half* row_of(Half* tile) {
  return tile + lane() % 16 * 16 + lane() / 16 * 8;
}
__device__ __forceinline__ void load_matrices(int* out, const half* tile) {
  unsigned r[4];
  ldmatrix_x4(r, row_of(tile));  // [ldmatrix]
  out[threadIdx.x] = int(r[0]);
}

template <class Load>
__device__ __forceinline__ void load_what_lane_3_writes(int* out, bool kept, Load load) {
  half* tile = written_tile();
  if (threadIdx.x == 3) tile[5 * 16 + 9] = half(1.0f);  // [element]
  if (kept) __syncwarp();
  load(out, tile);
}
RULE(wmma_load, finds(intra, "element", "wmma").of(WARP)) { load_what_lane_3_writes(out, kept, load_fragment); }
RULE(ldmatrix, race(writes("element", 0, 3), reads("ldmatrix", 0, 21), "tile[5][9]").of(WARP)) {
  load_what_lane_3_writes(out, kept, load_matrices);
}
RULE(wmma_of_unwritten, alone(uninitialised, reads("wmma", 0, 24), "tile[14][0]", 32).of(WARP).if_ascending()) {
  load_fragment(out, written_tile(kept ? 16 : 14));
}
RULE(ldmatrix_of_unwritten, alone(uninitialised, reads("ldmatrix", 0, 14), "tile[14][0]", 4).of(WARP).if_ascending()) {
  load_matrices(out, written_tile(kept ? 16 : 14));
}
RULE(wmma_past_end, alone(out_of_bounds, reads("wmma", 0, 28), "tile[16][0], past the end of tile (16 rows)", 16)
                        .of(WARP)
                        .if_ascending()) {
  load_fragment(out, written_tile() + (kept ? 0 : 16));
}
RULE(ldmatrix_past_end, alone(out_of_bounds, reads("ldmatrix", 0, 15), "tile[16][0], past the end of tile (16 rows)", 2)
                            .of(WARP)
                            .if_ascending()) {
  load_matrices(out, written_tile() + (kept ? 0 : 16));
}

template <class Store>
__device__ __forceinline__ void read_what_all_store(int* out, bool kept, Store store) {
  half* tile = written_tile();
  store(tile);
  if (kept) __syncwarp();
  for (int i = 0; i < 8; ++i) out[lane()] += int(float(tile[32 * i + lane()]));  // [each]
}
RULE(stmatrix, finds(intra, "stmatrix", "each").of(WARP)) {
  read_what_all_store(out, kept, [](half* tile) {
    const unsigned r[4] = {0x3C003C00u, 0, 0, 0x40004000u};
    stmatrix_x4_trans(row_of(tile), r);  // [stmatrix]
  });
}
RULE(wmma_store, finds(intra, "wmma store", "read").of({32, 1024})) {
  float* tile = array<float>("tile", 16, 16);
  for (int i = 0; i < 8; ++i) tile[32 * i + lane()] = 0.0f;
  __syncwarp();
  Accumulator c;
  nvcuda::wmma::fill_fragment(c, 2.0f);
  nvcuda::wmma::store_matrix_sync(tile, c, 16, nvcuda::wmma::mem_row_major);  // [wmma store]
  if (kept) __syncwarp();
  for (int i = 0; i < 8; ++i) out[lane()] += int(tile[32 * i + lane()]);  // [read]
}

// --- named barriers ------------------------------------------------------------------------------

constexpr Expect BY_OTHERS = race(writes("write", 0, 3), reads("read", 2, 6), "s[21]");
RULE(named_barrier, BY_OTHERS, BY_OTHERS.saying("no barrier that both take part in orders them").if_ascending()) {
  write_then_read(out, 3, kept ? 41 : 70, [](int*) {
    if (warp() == 0) barrier_arrive(1, 64);
    if (warp() == 1) barrier_sync(1, 64);
  });
}

RULE(named_arrive_acquires_nothing, race(writes("write", 0, 3), reads("read", 1, 9)).of(TWO)) {
  write_then_read(out, 3, 41, [=](int*) { (warp() == 0) == kept ? barrier_arrive(1, 64) : barrier_sync(1, 64); });
}

RULE(named_arrive_orders_no_lanes, race(writes("write", 0, 3), reads("read", 0, 9)).of(TWO)) {
  write_then_read(out, 3, 9, [=](int*) { warp() == 0 && !kept ? barrier_arrive(1, 64) : barrier_sync(1, 64); });
}

// Warp 1 passes on what it has heard of warp 0, or what it had before.
RULE(named_chain, race(writes("write", 0, 3), reads("read", 2, 9))) {
  write_then_read(out, 3, 73, [=](int*) {
    if (warp() == 0) barrier_arrive(1, 64);
    if (warp() == 1 && !kept) barrier_arrive(2, 64);
    if (warp() == 1) barrier_sync(1, 64);
    if (warp() == 1 && kept) barrier_arrive(2, 64);
    if (warp() == 2) barrier_sync(2, 64);
  });
}

RULE(named_written_after_arrive, race(writes("write", 0, 3), reads("read", 1, 9)).of(TWO)) {
  int* s = zeroed();
  if (warp() == 0 && !kept) barrier_arrive(1, 64);
  if (threadIdx.x == 3) s[21] = 1;  // [write]
  if (warp() == 0 && kept) barrier_arrive(1, 64);
  if (warp() == 1) barrier_sync(1, 64);
  if (threadIdx.x == 41) out[41] = s[21];  // [read]
}

// First for warps 0 and 1, then for 2 and 3: the second use knows nothing of the first.
BROKEN(named_reused_by_others, race(writes("write", 0, 3), reads("read", 3, 9)).of(FOUR).if_ascending()) {
  write_then_read(out, 3, 105, [](int*) { barrier_sync(1, 64); });
}

// Two warps read before any named barrier is used; the writer waits for both, or forgets one.
RULE(named_readers, finds(inter, "read", "write")) {
  int* s = zeroed();
  if (warp() == 2 || (warp() == 1 && kept)) out[threadIdx.x] = s[21];  // [read]
  if (warp() == 1) out[threadIdx.x] = s[21];
  const int counted = kept ? 96 : 64;
  if (warp() == 0) barrier_sync(1, counted);
  if (warp() == 1 || (warp() == 2 && kept)) barrier_arrive(1, counted);
  if (threadIdx.x == 3) s[21] = 1;  // [write]
}

// The reads of warp 2 that matter come after its last arrival, among reads of warp 1 that are ordered.
RULE(named_second_round, finds(inter, "read", "write")) {
  int* s = zeroed();
  if (warp()) out[threadIdx.x] = s[21];
  barrier_sync(1, 96);
  if (warp() == 1) out[threadIdx.x] += s[21];
  if (warp() == 2) out[threadIdx.x] += s[21];  // [read]
  const int counted = kept ? 96 : 64;
  if (warp() == 1 || (warp() == 2 && kept)) barrier_arrive(2, counted);
  if (warp() == 0) barrier_sync(2, counted);
  if (threadIdx.x == 3) s[21] = 1;  // [write]
}

// --- a report as a whole: by test cases of their own (test_rules.cpp) ----------------------------

BROKEN(many_at_once, race(writes("write", 0, 31), reads("read", 1, 0), "s[32]").of({96, 512, 6}).if_ascending()) {
  int* s = zeroed();
  out[blockIdx.x * blockDim.x + threadIdx.x] = s[threadIdx.x % 64];  // [read]
  if (threadIdx.x < 64) s[63 - threadIdx.x] = 1;                     // [write]
}

// The last kernel, for the line numbers are not this file's from here on.
BROKEN(added_by_patch, finds(inter, "read").if_ascending()) {
  int* s = zeroed();
  if (threadIdx.x == 41) out[41] = s[21];  // [read]
#line 8 "checks/tests/sample.patch"
  if (threadIdx.x == 3) s[21] = 1;
}

}  // namespace
}  // namespace lab::rules
