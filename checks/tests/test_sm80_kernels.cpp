// ldmatrix, stmatrix, cp.async by every thread, and named barriers: kernels that keep a rule and kernels that break it
// (checks/tests/checked.hpp).
#include "checks/tests/checked.hpp"

#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include "common/launch.cuh"
#include "common/ptx/barrier.cuh"
#include "common/ptx/ldmatrix.cuh"
#include "common/ptx/mma.cuh"
#include "common/ptx/stmatrix.cuh"
#include "common/smem_plan.cuh"

namespace lab::checked {
namespace {

using enum Finding::Kind;
constexpr Size SIZE{32, 512, 1, 1};

using namespace lab::ptx;

// tile[16][16]: half of a 16x16 tile is one matrix of ldmatrix beside another.
// Row l % 16, columns 0..7 or 8..15: matrices 0 and 1 are the left half, 2 and 3 the right.
__device__ __forceinline__ half* row_of(half* tile, unsigned lane) { return tile + lane % 16 * 16 + lane / 16 * 8; }

__device__ __forceinline__ unsigned warp() { return threadIdx.x / 32; }
__device__ __forceinline__ unsigned lane() { return threadIdx.x % 32; }

// --- ldmatrix and stmatrix ---------------------------------------------------------------------------

CHECKED(ldmatrix_right, silent()) {
  half* tile = array<half>("tile", 16, 16);
  for (int i = 0; i < 8; ++i) tile[32 * i + lane()] = half(float(i));
  __syncwarp();
  unsigned r[4], t[4];
  ldmatrix_x4(r, row_of(tile, lane()));
  ldmatrix_x4_trans(t, row_of(tile, lane()));
  out[lane()] = int(r[0] + r[1] + r[2] + r[3] + t[0] + t[1] + t[2] + t[3]);
}

CHECKED(ldmatrix_unordered, races(intra, "write", "load"),
        ascending(race(writes("write", 0, 3), reads("load", 0, 21), "tile[5][9]"))) {
  half* tile = written_tile();
  if (lane() == 3) tile[5 * 16 + 9] = half(1.0f);  // [write]
  unsigned r[4];
  ldmatrix_x4(r, row_of(tile, lane()));  // [load]
  out[lane()] = int(r[0]);
}

CHECKED(ldmatrix_other_warp, races(inter, "write", "load", {64}),
        ascending(race(writes("write", 0, 3), reads("load", 1, 5), "tile[5][1]"), {64})) {
  half* tile = written_tile();
  unsigned r[2] = {};
  if (warp() == 0) {
    if (lane() == 3) tile[5 * 16 + 1] = half(1.0f);  // [write]
  } else {
    ldmatrix_x2(r, row_of(tile, lane()));  // [load]
  }
  out[threadIdx.x] = int(r[0]);
}

CHECKED(ldmatrix_uninitialised, ascending(alone(uninitialised, reads("load", 0, 14), "tile[14][0]", 4))) {
  half* tile = written_tile(14);
  unsigned r[4];
  ldmatrix_x4(r, row_of(tile, lane()));  // [load]
  out[lane()] = int(r[0]);
}

CHECKED(ldmatrix_past_end,
        ascending(alone(out_of_bounds, reads("load", 0, 7), "tile[16][0], past the end of tile (16 rows)"))) {
  half* tile = written_tile();
  unsigned r[1];
  ldmatrix_x1(r, tile + (9 + lane() % 8) * 16);  // [load]
  out[lane()] = int(r[0]);
}

CHECKED(ldmatrix_orders_nothing, races(intra, "write", "read")) {
  half* tile = written_tile();
  if (lane() == 3) tile[15 * 16] = half(1.0f);  // [write]
  unsigned r[1];
  ldmatrix_x1(r, tile + lane() % 8 * 16);
  if (lane() == 9) out[9] = int(float(tile[15 * 16])) + int(r[0]);  // [read]
}

CHECKED(mma_orders_nothing, races(intra, "write", "read")) {
  write_then_read(out, 3, 9, [] {
    float c[4] = {};
    const unsigned a[4] = {}, b[2] = {};
    mma_m16n8k16(c, a, b);
  });
}

CHECKED(ldmatrix_before_wait,
        ascending({before_wait, "", writes("copy", 0, 0), reads("load", 0, 0), "tile[0][0]", 32})) {
  half* tile = array<half>("tile", 16, 16);
  __pipeline_memcpy_async(row_of(tile, lane()), maps->data, 16);  // [copy]
  __pipeline_commit();
  unsigned r[4];
  ldmatrix_x4(r, row_of(tile, lane()));  // [load]
  __pipeline_wait_prior(0);
  out[lane()] = int(r[0]);
}

CHECKED(stmatrix_unordered, races(intra, "store", "read")) {
  half* tile = written_tile();
  const unsigned r[4] = {};
  stmatrix_x4(row_of(tile, lane()), r);                                          // [store]
  for (int i = 0; i < 8; ++i) out[lane()] += int(float(tile[32 * i + lane()]));  // [read]
}

CHECKED(stmatrix_right, silent()) {
  half* tile = array<half>("tile", 16, 16);
  const unsigned r[4] = {0x3C003C00u, 0, 0, 0x40004000u};
  stmatrix_x4_trans(row_of(tile, lane()), r);
  __syncwarp();
  for (int i = 0; i < 8; ++i) out[lane()] += int(float(tile[32 * i + lane()]));
}

// --- cp.async ---------------------------------------------------------------------------------------------

// Two buffers of a row per thread; the copies of a round are on their way while the round before is read.
CHECKED(copies_by_all, silent({64, 2 * 64 * 16}), silent({256, 2 * 256 * 16})) {
  int* s = array<int>("s", 2 * int(blockDim.x), 4);
  const int threads = int(blockDim.x), i = int(threadIdx.x);
  const auto issue = [&](int round) {
    if (round < 4) __pipeline_memcpy_async(s + 4 * (round % 2 * threads + i), out + i / 4 * 4, 16);
    __pipeline_commit();
  };
  issue(0);
  int sum = 0;
  for (int round = 0; round < 4; ++round) {
    issue(round + 1);
    __pipeline_wait_prior(1);
    __syncthreads();
    sum += s[4 * (round % 2 * threads + threads - 1 - i)];
    __syncthreads();
  }
  out[i] = sum;
}

CHECKED(copies_not_committed,
        only({before_wait, "", writes("copy", 0, 7), reads("read", 1, 8), "s[7][0]"}, {64, 64 * 16})
            .saying("the wait came before its group was committed")) {
  int* s = array<int>("s", int(blockDim.x), 4);
  const int i = int(threadIdx.x);
  __pipeline_memcpy_async(s + 4 * i, out, 16);  // [copy]
  if (i != 7) __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  if (i == 40) out[i] = s[4 * 7];  // [read]
}

// --- named barriers ------------------------------------------------------------------------------------------

// Barrier 1: full. Barrier 2: empty. Warp 0 makes, warp 1 takes.
CHECKED(named_producer_consumer, silent({64}), silent({96})) {
  float* s = zeroed();
  for (int round = 0; round < 4; ++round) {
    if (warp() == 0) {
      if (round > 0) barrier_sync(2, 64);
      s[lane()] = float(round + 1);
      barrier_arrive(1, 64);
    } else if (warp() == 1) {
      barrier_sync(1, 64);
      out[threadIdx.x] += int(s[31 - lane()]);
      if (round < 3) barrier_arrive(2, 64);
    }
  }
}

CHECKED(named_third_reads, races(inter, "write", "read", {96}),
        ascending(race(writes("write", 0, 3), reads("read", 2, 6), "s[5][1]"), {96})
            .saying("no barrier that both take part in orders them")) {
  write_then_read(out, 3, 70, [] {
    if (warp() == 0) barrier_arrive(1, 64);
    if (warp() == 1) barrier_sync(1, 64);
  });
}

CHECKED(named_third_writes, races(inter, "one", "other", {96})) {
  float* s = zeroed();
  if (warp() == 0) {
    if (lane() == 3) s[21] = 1.0f;  // [one]
    barrier_sync(1, 64);
  } else if (warp() == 1) {
    barrier_sync(1, 64);
  } else if (lane() == 6) {
    s[21] = 2.0f;  // [other]
  }
}

CHECKED(arrive_acquires_nothing, races(inter, "write", "read", {64})) {
  write_then_read(out, 3, 41, [] { warp() == 0 ? barrier_sync(1, 64) : barrier_arrive(1, 64); });
}

CHECKED(named_chain, silent({96})) {
  write_then_read(out, 3, 73, [] {
    if (warp() == 0) barrier_arrive(1, 64);
    if (warp() == 1) barrier_sync(1, 64), barrier_arrive(2, 64);
    if (warp() == 2) barrier_sync(2, 64);
  });
}

// Warp 1 passes on what it had before it heard of warp 0.
CHECKED(named_chain_backwards, races(inter, "write", "read", {96})) {
  write_then_read(out, 3, 73, [] {
    if (warp() == 0) barrier_arrive(1, 64);
    if (warp() == 1) barrier_arrive(2, 64), barrier_sync(1, 64);
    if (warp() == 2) barrier_sync(2, 64);
  });
}

CHECKED(named_written_after_arrive, races(inter, "write", "read", {64})) {
  float* s = zeroed();
  if (warp() == 0) {
    barrier_arrive(1, 64);
    if (lane() == 3) s[21] = 1.0f;  // [write]
  } else if (warp() == 1) {
    barrier_sync(1, 64);
    if (lane() == 9) out[threadIdx.x] = int(s[21]);  // [read]
  }
}

// Warps 0 and 1, 2 and 3: each pair has a barrier and a place of its own.
CHECKED(named_two_groups, silent({128})) {
  float* s = zeroed();
  const int group = int(warp() / 2);
  for (int round = 0; round < 3; ++round) {
    if (warp() % 2 == unsigned(round % 2) && lane() == 3) s[21 + group] = float(round + 10 * group);
    barrier_sync(1 + group, 64);
    out[threadIdx.x] += int(s[21 + group]);
    barrier_sync(1 + group, 64);
  }
}

CHECKED(named_across_groups, races(inter, "write", "read", {128})) {
  write_then_read(out, 3, 73, [] { barrier_sync(1 + int(warp() / 2), 64); });
}

// One barrier, first for warps 0 and 1, then for 2 and 3 (in ascending order): the second use knows nothing of the
// first.
CHECKED(named_reused_by_others, ascending(race(writes("write", 0, 3), reads("read", 3, 9), "s[5][1]"), {128})) {
  write_then_read(out, 3, 105, [] { barrier_sync(1, 64); });
}

// Two warps read before any named barrier is used; the writer waits for both, or forgets one.
CHECKED(named_readers_done, silent({96})) {
  float* s = zeroed();
  if (warp() != 0) {
    out[threadIdx.x] = int(s[21]);
    barrier_arrive(1, 96);
  } else {
    barrier_sync(1, 96);
    if (lane() == 3) s[21] = 1.0f;
  }
}

CHECKED(named_one_reader_forgotten, races(inter, "read", "write", {96})) {
  float* s = zeroed();
  if (warp() == 2 && lane() == 6) out[threadIdx.x] = int(s[21]);  // [read]
  if (warp() == 1) {
    if (lane() == 9) out[threadIdx.x] = int(s[21]);
    barrier_arrive(1, 64);
  } else if (warp() == 0) {
    barrier_sync(1, 64);
    if (lane() == 3) s[21] = 1.0f;  // [write]
  }
}

// The reads of warp 2 that matter come after its last arrival, among reads of warp 1 that are ordered.
CHECKED(named_reader_of_round_two_forgotten,
        races(inter, "read", "write", {96}),  // Warp 2 has read when warp 0 writes.
        descending(race(reads("read", 2, 6), writes("write", 0, 3), "s[5][1]"), {96})) {
  float* s = zeroed();
  if (warp() == 2) {
    out[threadIdx.x] = int(s[21]);
    barrier_sync(1, 96);
    if (lane() == 6) out[threadIdx.x] += int(s[21]);  // [read]
  } else if (warp() == 1) {
    out[threadIdx.x] = int(s[21]);
    barrier_sync(1, 96);
    out[threadIdx.x] += int(s[21]);
    barrier_arrive(2, 64);
  } else {
    barrier_sync(1, 96);
    barrier_sync(2, 64);
    if (lane() == 3) s[21] = 1.0f;  // [write]
  }
}

CHECKED(named_then_block, silent({96})) {
  float* s = zeroed();
  if (warp() < 2) barrier_sync(1, 64);
  if (threadIdx.x == 70) s[21] = 1.0f;
  __syncthreads();
  out[threadIdx.x] = int(s[21]);
}

CHECKED(named_orders_own_lanes, silent({32})) {
  float* s = zeroed();
  if (lane() == 3) s[21] = 1.0f;
  barrier_sync(1, 32);
  out[threadIdx.x] = int(s[21]);
}

CHECKED(arrive_orders_no_lanes, races(intra, "write", "read", {64})) {
  write_then_read(out, 3, 9, [] { warp() == 0 ? barrier_arrive(1, 64) : barrier_sync(1, 64); });
}

}  // namespace
}  // namespace lab::checked
