// Compiled with -fsanitize=thread, never linked with its runtime. A comment such as [write] marks the line that a
// report must name: the test finds it by the kernel's name and the mark.
#include "checks/tests/test_sm80_kernels.hpp"

#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include "common/launch.cuh"
#include "common/ptx/barrier.cuh"
#include "common/ptx/ldmatrix.cuh"
#include "common/ptx/mma.cuh"
#include "common/ptx/stmatrix.cuh"
#include "common/smem_plan.cuh"

namespace lab::sm80_kernels {

using namespace lab::ptx;

namespace {

// tile[16][16]: half of a 16x16 tile is one matrix of ldmatrix beside another.
__device__ __forceinline__ half* tile16() {
  SmemCursor cursor;
  return cursor.array<half>("tile", 16, 16);
}
// Row l % 16, columns 0..7 or 8..15: matrices 0 and 1 are the left half, 2 and 3 the right.
__device__ __forceinline__ half* row_of(half* tile, unsigned lane) { return tile + lane % 16 * 16 + lane / 16 * 8; }

// s[16][4], zero and behind a block barrier.
__device__ __forceinline__ float* zeroed() {
  SmemCursor cursor;
  float* s = cursor.array<float>("s", 16, 4);
  for (unsigned i = threadIdx.x; i < 64; i += blockDim.x) s[i] = 0.0f;
  __syncthreads();
  return s;
}

__device__ __forceinline__ unsigned warp() { return threadIdx.x / 32; }
__device__ __forceinline__ unsigned lane() { return threadIdx.x % 32; }

}  // namespace

// --- ldmatrix and stmatrix ---------------------------------------------------------------------------

__global__ void ldmatrix_right(int* out) {
  half* tile = tile16();
  for (int i = 0; i < 8; ++i) tile[32 * i + lane()] = half(float(i));
  __syncwarp();
  unsigned r[4], t[4];
  ldmatrix_x4(r, row_of(tile, lane()));
  ldmatrix_x4_trans(t, row_of(tile, lane()));
  out[lane()] = int(r[0] + r[1] + r[2] + r[3] + t[0] + t[1] + t[2] + t[3]);
}

__global__ void ldmatrix_unordered(int* out) {
  half* tile = tile16();
  for (int i = 0; i < 8; ++i) tile[32 * i + lane()] = half(0.0f);
  __syncwarp();
  if (lane() == 3) tile[5 * 16 + 9] = half(1.0f);  // [write]
  unsigned r[4];
  ldmatrix_x4(r, row_of(tile, lane()));  // [load]
  out[lane()] = int(r[0]);
}

__global__ void ldmatrix_other_warp(int* out) {
  half* tile = tile16();
  for (unsigned i = threadIdx.x; i < 256; i += blockDim.x) tile[i] = half(0.0f);
  __syncthreads();
  unsigned r[2] = {};
  if (warp() == 0) {
    if (lane() == 3) tile[5 * 16 + 1] = half(1.0f);  // [write]
  } else {
    ldmatrix_x2(r, row_of(tile, lane()));  // [load]
  }
  out[threadIdx.x] = int(r[0]);
}

__global__ void ldmatrix_uninitialised(int* out) {
  half* tile = tile16();
  for (int i = 0; i < 7; ++i) tile[32 * i + lane()] = half(0.0f);  // rows 14 and 15 are left out
  __syncwarp();
  unsigned r[4];
  ldmatrix_x4(r, row_of(tile, lane()));  // [load]
  out[lane()] = int(r[0]);
}

__global__ void ldmatrix_past_end(int* out) {
  half* tile = tile16();
  for (int i = 0; i < 8; ++i) tile[32 * i + lane()] = half(0.0f);
  __syncwarp();
  unsigned r[1];
  ldmatrix_x1(r, tile + (9 + lane() % 8) * 16);  // [load]
  out[lane()] = int(r[0]);
}

__global__ void ldmatrix_orders_nothing(int* out) {
  half* tile = tile16();
  for (int i = 0; i < 8; ++i) tile[32 * i + lane()] = half(0.0f);
  __syncwarp();
  if (lane() == 3) tile[15 * 16] = half(1.0f);  // [write]
  unsigned r[1];
  ldmatrix_x1(r, tile + lane() % 8 * 16);
  if (lane() == 9) out[9] = int(float(tile[15 * 16])) + int(r[0]);  // [read]
}

__global__ void mma_orders_nothing(int* out) {
  float* s = zeroed();
  if (lane() == 3) s[21] = 1.0f;  // [write]
  float c[4] = {};
  const unsigned a[4] = {}, b[2] = {};
  mma_m16n8k16(c, a, b);
  if (lane() == 9) out[9] = int(s[21] + c[0]);  // [read]
}

__global__ void ldmatrix_before_wait(int* out) {
  half* tile = tile16();
  __pipeline_memcpy_async(row_of(tile, lane()), out, 16);  // [copy]
  __pipeline_commit();
  unsigned r[4];
  ldmatrix_x4(r, row_of(tile, lane()));  // [load]
  __pipeline_wait_prior(0);
  out[lane()] = int(r[0]);
}

__global__ void stmatrix_unordered(int* out) {
  half* tile = tile16();
  for (int i = 0; i < 8; ++i) tile[32 * i + lane()] = half(0.0f);
  __syncwarp();
  const unsigned r[4] = {};
  stmatrix_x4(row_of(tile, lane()), r);                                          // [store]
  for (int i = 0; i < 8; ++i) out[lane()] += int(float(tile[32 * i + lane()]));  // [read]
}

__global__ void stmatrix_right(int* out) {
  half* tile = tile16();
  const unsigned r[4] = {0x3C003C00u, 0, 0, 0x40004000u};
  stmatrix_x4_trans(row_of(tile, lane()), r);
  __syncwarp();
  for (int i = 0; i < 8; ++i) out[lane()] += int(float(tile[32 * i + lane()]));
}

// --- cp.async ---------------------------------------------------------------------------------------------

// Two buffers of a row per thread; the copies of a round are on their way while the round before is read.
__global__ void copies_by_all(int* out) {
  SmemCursor cursor;
  int* s = cursor.array<int>("s", 2 * int(blockDim.x), 4);
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

__global__ void copies_one_group_early(int* out) {
  SmemCursor cursor;
  int* s = cursor.array<int>("s", 2 * int(blockDim.x), 4);
  const int threads = int(blockDim.x), i = int(threadIdx.x);
  __pipeline_memcpy_async(s + 4 * i, out, 16);
  __pipeline_commit();
  __pipeline_memcpy_async(s + 4 * (threads + i), out, 16);  // [copy]
  __pipeline_commit();
  __pipeline_wait_prior(1);
  __syncthreads();
  out[i] = s[4 * (threads - 1 - i)];
  if (i == 40) out[i] += s[4 * (threads + 7)];  // [read]
  __syncthreads();
  __pipeline_wait_prior(0);
}

__global__ void copies_not_committed(int* out) {
  SmemCursor cursor;
  int* s = cursor.array<int>("s", int(blockDim.x), 4);
  const int i = int(threadIdx.x);
  __pipeline_memcpy_async(s + 4 * i, out, 16);  // [copy]
  if (i != 7) __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  if (i == 40) out[i] = s[4 * 7];  // [read]
}

// Warp 0 copies, warp 1 waits: groups belong to the thread that committed them.
__global__ void copies_other_threads_wait(int* out) {
  SmemCursor cursor;
  int* s = cursor.array<int>("s", 32, 4);
  if (warp() == 0) {
    __pipeline_memcpy_async(s + 4 * lane(), out, 16);  // [copy]
    __pipeline_commit();
  } else {
    __pipeline_wait_prior(0);
  }
  __syncthreads();
  if (threadIdx.x == 40) out[40] = s[4 * 7];  // [read]
  __syncthreads();
  if (warp() == 0) __pipeline_wait_prior(0);
}

// --- named barriers ------------------------------------------------------------------------------------------

// Barrier 1: full. Barrier 2: empty. Warp 0 makes, warp 1 takes.
__global__ void named_producer_consumer(int* out) {
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

__global__ void named_third_reads(int* out) {
  float* s = zeroed();
  if (warp() == 0) {
    if (lane() == 3) s[21] = 1.0f;  // [write]
    barrier_arrive(1, 64);
  } else if (warp() == 1) {
    barrier_sync(1, 64);
    out[threadIdx.x] = int(s[21]);
  } else if (lane() == 6) {
    out[threadIdx.x] = int(s[21]);  // [read]
  }
}

__global__ void named_third_writes(int*) {
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

__global__ void arrive_acquires_nothing(int* out) {
  float* s = zeroed();
  if (warp() == 0) {
    if (lane() == 3) s[21] = 1.0f;  // [write]
    barrier_sync(1, 64);
  } else {
    barrier_arrive(1, 64);
    if (lane() == 9) out[41] = int(s[21]);  // [read]
  }
}

__global__ void named_chain(int* out) {
  float* s = zeroed();
  if (warp() == 0) {
    if (lane() == 3) s[21] = 1.0f;
    barrier_arrive(1, 64);
  } else if (warp() == 1) {
    barrier_sync(1, 64);
    barrier_arrive(2, 64);
  } else {
    barrier_sync(2, 64);
    if (lane() == 9) out[threadIdx.x] = int(s[21]);
  }
}

// Warp 1 passes on what it had before it heard of warp 0.
__global__ void named_chain_backwards(int* out) {
  float* s = zeroed();
  if (warp() == 0) {
    if (lane() == 3) s[21] = 1.0f;  // [write]
    barrier_arrive(1, 64);
  } else if (warp() == 1) {
    barrier_arrive(2, 64);
    barrier_sync(1, 64);
  } else {
    barrier_sync(2, 64);
    if (lane() == 9) out[threadIdx.x] = int(s[21]);  // [read]
  }
}

__global__ void named_written_after_arrive(int* out) {
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
__global__ void named_two_groups(int* out) {
  float* s = zeroed();
  const int group = int(warp() / 2);
  for (int round = 0; round < 3; ++round) {
    if (warp() % 2 == unsigned(round % 2) && lane() == 3) s[21 + group] = float(round + 10 * group);
    barrier_sync(1 + group, 64);
    out[threadIdx.x] += int(s[21 + group]);
    barrier_sync(1 + group, 64);
  }
}

__global__ void named_across_groups(int* out) {
  float* s = zeroed();
  const int group = int(warp() / 2);
  if (threadIdx.x == 3) s[21] = 1.0f;  // [write]
  barrier_sync(1 + group, 64);
  if (threadIdx.x == 73) out[threadIdx.x] = int(s[21]);  // [read]
}

// One barrier, first for warps 0 and 1, then for 2 and 3 (in ascending order): the second use knows nothing of the
// first.
__global__ void named_reused_by_others(int* out) {
  float* s = zeroed();
  if (threadIdx.x == 3) s[21] = 1.0f;  // [write]
  barrier_sync(1, 64);
  if (threadIdx.x == 105) out[threadIdx.x] = int(s[21]);  // [read]
}

// Two warps read before any named barrier is used; the writer waits for both, or forgets one.
__global__ void named_readers_done(int* out) {
  float* s = zeroed();
  if (warp() != 0) {
    out[threadIdx.x] = int(s[21]);
    barrier_arrive(1, 96);
  } else {
    barrier_sync(1, 96);
    if (lane() == 3) s[21] = 1.0f;
  }
}

__global__ void named_one_reader_forgotten(int* out) {
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
__global__ void named_reader_of_round_two_forgotten(int* out) {
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

__global__ void named_then_block(int* out) {
  float* s = zeroed();
  if (warp() < 2) barrier_sync(1, 64);
  if (threadIdx.x == 70) s[21] = 1.0f;
  __syncthreads();
  out[threadIdx.x] = int(s[21]);
}

__global__ void named_orders_own_lanes(int* out) {
  float* s = zeroed();
  if (lane() == 3) s[21] = 1.0f;
  barrier_sync(1, 32);
  out[threadIdx.x] = int(s[21]);
}

__global__ void arrive_orders_no_lanes(int* out) {
  float* s = zeroed();
  if (warp() == 0) {
    if (lane() == 3) s[21] = 1.0f;  // [write]
    barrier_arrive(1, 64);
    if (lane() == 9) out[9] = int(s[21]);  // [read]
  } else {
    barrier_sync(1, 64);
  }
}

}  // namespace lab::sm80_kernels
