// The kernels of checks/tests/test_checker.cpp. Compiled with -fsanitize=thread, never linked with its runtime;
// nothing else belongs here. A comment such as [write] marks the line that a report must name: the test finds
// it by "kernel_name" and "[write]".
#include "checks/tests/test_checker_kernels.hpp"

#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>
#include <mma.h>

#include "common/launch.cuh"
#include "common/smem_plan.cuh"
#include "common/warp.cuh"

namespace lab::checker_kernels {
namespace {

// An array s[16][4] of numbers, all zero, written and behind a barrier.
__device__ __forceinline__ float* zeroed() {
  SmemCursor cursor;
  float* s = cursor.array<float>("s", 16, 4);
  for (unsigned i = threadIdx.x; i < 64; i += blockDim.x) s[i] = 0.0f;
  __syncthreads();
  return s;
}

}  // namespace

// --- order between warps -------------------------------------------------------------------------

__global__ void inter_write_read(int* out) {
  float* s = zeroed();
  if (threadIdx.x == 3) s[21] = 1.0f;                                     // [write]
  if (threadIdx.x == 41) out[blockIdx.x * blockDim.x + 41] = int(s[21]);  // [read]
}

__global__ void inter_write_write(int*) {
  float* s = zeroed();
  if (threadIdx.x == 3) s[21] = 1.0f;   // [one]
  if (threadIdx.x == 70) s[21] = 2.0f;  // [other]
}

__global__ void inter_read_write_many(int* out) {
  float* s = zeroed();
  out[blockIdx.x * blockDim.x + threadIdx.x] = int(s[threadIdx.x % 64]);  // [read]
  if (threadIdx.x < 64) s[63 - threadIdx.x] = 1.0f;                       // [write]
}

__global__ void inter_with_barriers(int* out) {
  float* s = zeroed();
  for (int round = 0; round < 3; ++round) {
    if (threadIdx.x == unsigned(3 + 32 * (round % 2))) s[21] = float(round);
    __syncthreads();
    out[threadIdx.x] += int(s[21]);
    __syncthreads();
  }
}

__global__ void inter_shuffles_order_nothing(int* out) {
  float* s = zeroed();
  if (threadIdx.x == 3) s[21] = 1.0f;  // [write]
  warp_sum(1.0f);
  __syncwarp();
  __shfl_sync(FULL_WARP, 1, 0);
  if (threadIdx.x == 41) out[41] = int(s[21]);  // [read]
}

// --- order inside a warp -------------------------------------------------------------------------

__global__ void intra_write_read(int* out) {
  float* s = zeroed();
  if (threadIdx.x == 35) s[21] = 1.0f;          // [write]
  if (threadIdx.x == 41) out[41] = int(s[21]);  // [read]
}

__global__ void intra_write_write(int*) {
  float* s = zeroed();
  if (threadIdx.x == 35) s[21] = 1.0f;  // [one]
  if (threadIdx.x == 41) s[21] = 2.0f;  // [other]
}

__global__ void intra_read_write(int* out) {
  float* s = zeroed();
  if (threadIdx.x == 35) out[35] = int(s[21]);  // [read]
  if (threadIdx.x == 41) s[21] = 2.0f;          // [write]
}

__global__ void full_sync_orders(int* out) {
  float* s = zeroed();
  float* own = s + threadIdx.x / 32 * 16;
  for (int round = 0; round < 3; ++round) {
    if (threadIdx.x % 32 == unsigned(round)) own[5] = float(round);
    __syncwarp();
    out[threadIdx.x] += int(own[5]);
    __syncwarp();
  }
}

__global__ void missing_second_sync(int* out) {
  float* s = zeroed();
  for (int round = 0; round < 2; ++round) {
    if (threadIdx.x == unsigned(round)) s[5] = float(round);  // [write]
    __syncwarp();
    out[threadIdx.x] += int(s[5]);  // [read]
  }
}

__global__ void shuffle_orders_nothing(int* out) {
  float* s = zeroed();
  if (threadIdx.x == 3) s[21] = 1.0f;  // [write]
  int x = __shfl_sync(FULL_WARP, 1, 3);
  x += __shfl_xor_sync(FULL_WARP, x, 1);
  if (threadIdx.x == 9) out[9] = int(s[21]) + x;  // [read]
}

__global__ void vote_orders_nothing(int* out) {
  float* s = zeroed();
  if (threadIdx.x == 3) s[21] = 1.0f;  // [write]
  const int x = int(__ballot_sync(FULL_WARP, 1)) + __any_sync(FULL_WARP, 1) + __all_sync(FULL_WARP, 1);
  if (threadIdx.x == 9) out[9] = int(s[21]) + x;  // [read]
}

__global__ void reduction_orders_nothing(int* out) {
  float* s = zeroed();
  if (threadIdx.x == 3) s[21] = 1.0f;  // [write]
  const float x = warp_sum(1.0f) + warp_max(2.0f);
  if (threadIdx.x == 9) out[9] = int(s[21] + x);  // [read]
}

namespace {
using Accumulator = nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float>;
using OperandA = nvcuda::wmma::fragment<nvcuda::wmma::matrix_a, 16, 16, 16, half, nvcuda::wmma::row_major>;
}  // namespace

__global__ void wmma_store_unordered(int* out) {
  SmemCursor cursor;
  float* tile = cursor.array<float>("tile", 16, 16);
  for (int i = 0; i < 8; ++i) tile[32 * i + threadIdx.x] = 0.0f;
  __syncwarp();
  Accumulator c;
  nvcuda::wmma::fill_fragment(c, 2.0f);
  nvcuda::wmma::store_matrix_sync(tile, c, 16, nvcuda::wmma::mem_row_major);        // [store]
  for (int i = 0; i < 8; ++i) out[threadIdx.x] += int(tile[32 * i + threadIdx.x]);  // [read]
}

__global__ void wmma_store_synced(int* out) {
  SmemCursor cursor;
  float* tile = cursor.array<float>("tile", 16, 16);
  Accumulator c;
  nvcuda::wmma::fill_fragment(c, 2.0f);
  nvcuda::wmma::store_matrix_sync(tile, c, 16, nvcuda::wmma::mem_row_major);
  __syncwarp();
  for (int i = 0; i < 8; ++i) out[threadIdx.x] += int(tile[32 * i + threadIdx.x]);
}

__global__ void wmma_load_unordered(int* out) {
  SmemCursor cursor;
  half* tile = cursor.array<half>("tile", 16, 16);
  for (int i = 0; i < 8; ++i) tile[32 * i + threadIdx.x] = half(0.0f);
  __syncwarp();
  for (int i = 0; i < 8; ++i) tile[32 * i + threadIdx.x] = half(1.0f);  // [write]
  OperandA a;
  nvcuda::wmma::load_matrix_sync(a, tile, 16);  // [load]
  out[threadIdx.x] = int(float(a.x[0]));
}

__global__ void wmma_load_uninitialised(int* out) {
  SmemCursor cursor;
  half* tile = cursor.array<half>("tile", 16, 16);
  for (int i = 0; i < 7; ++i) tile[32 * i + threadIdx.x] = half(1.0f);  // the last two rows are missing
  __syncwarp();
  OperandA a;
  nvcuda::wmma::load_matrix_sync(a, tile, 16);  // [load]
  out[threadIdx.x] = int(float(a.x[0]));
}

__global__ void wmma_load_past_end(int* out) {
  SmemCursor cursor;
  half* tile = cursor.array<half>("tile", 16, 16);
  for (int i = 0; i < 8; ++i) tile[32 * i + threadIdx.x] = half(1.0f);
  __syncwarp();
  OperandA a;
  nvcuda::wmma::load_matrix_sync(a, tile + 16, 16);  // [load]
  out[threadIdx.x] = int(float(a.x[0]));
}

// --- __syncwarp of some lanes --------------------------------------------------------------------

__global__ void partial_orders_its_lanes(int* out) {
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

__global__ void partial_orders_no_others(int* out) {
  float* s = zeroed();
  if (threadIdx.x < 16) {
    if (threadIdx.x == 2) s[21] = 1.0f;  // [write]
    __syncwarp(0x0000FFFFu);
  } else {
    __syncwarp(0xFFFF0000u);
    if (threadIdx.x == 20) out[20] = int(s[21]);  // [read]
  }
}

__global__ void both_halves(int* out) {
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

__global__ void chain(int* out) {  // 0 before 1 before 2
  float* s = zeroed();
  if (threadIdx.x == 0) s[21] = 1.0f;
  if (threadIdx.x < 2) __syncwarp(0x3u);
  if (threadIdx.x == 1 || threadIdx.x == 2) __syncwarp(0x6u);
  if (threadIdx.x == 2) out[2] = int(s[21]);
}

__global__ void chain_of_four(int* out) {
  float* s = zeroed();
  if (threadIdx.x == 30) s[21] = 1.0f;
  if (threadIdx.x == 30 || threadIdx.x == 4) __syncwarp(0x40000010u);
  if (threadIdx.x == 4) out[4] = int(s[21]);
  if (threadIdx.x == 4 || threadIdx.x == 17) __syncwarp(0x00020010u);
  if (threadIdx.x == 17 || threadIdx.x == 5) __syncwarp(0x00020020u);
  if (threadIdx.x == 5) s[21] = 2.0f;  // after the write of 30 and the read of 4
}

__global__ void chain_backwards(int* out) {  // 1 meets 2 before it has heard of 0
  float* s = zeroed();
  if (threadIdx.x == 0) s[21] = 1.0f;  // [write]
  if (threadIdx.x == 1 || threadIdx.x == 2) __syncwarp(0x6u);
  if (threadIdx.x < 2) __syncwarp(0x3u);
  if (threadIdx.x == 2) out[2] = int(s[21]);  // [read]
}

__global__ void chain_too_late(int* out) {  // 0 writes after it has met 1
  float* s = zeroed();
  if (threadIdx.x < 2) __syncwarp(0x3u);
  if (threadIdx.x == 0) s[21] = 1.0f;  // [write]
  if (threadIdx.x == 1 || threadIdx.x == 2) __syncwarp(0x6u);
  if (threadIdx.x == 2) out[2] = int(s[21]);  // [read]
}

__global__ void own_sync_is_no_order(int* out) {
  float* s = zeroed();
  if (threadIdx.x == 3) s[21] = 1.0f;  // [write]
  __syncwarp(1u << threadIdx.x);
  if (threadIdx.x == 9) out[9] = int(s[21]);  // [read]
}

__global__ void stale_after_full_sync(int* out) {  // what 1 knew of 0 says nothing of what 0 does later
  float* s = zeroed();
  if (threadIdx.x < 2) __syncwarp(0x3u);
  if (threadIdx.x < 2) __syncwarp(0x3u);
  __syncwarp();
  if (threadIdx.x == 0) s[21] = 1.0f;         // [write]
  if (threadIdx.x == 1) out[1] = int(s[21]);  // [read]
}

__global__ void mixed_readers_ordered(int* out) {
  float* s = zeroed();
  const unsigned lane = threadIdx.x;
  if (lane < 2) out[lane] = int(s[21]);
  if (lane < 2) __syncwarp(0x3u);
  if (lane == 0 || lane == 2) out[lane] += int(s[21]);  // 0 in a later state than 2
  if (lane == 0 || lane == 2 || lane == 3) __syncwarp(0xDu);
  if (lane == 3) s[21] = 1.0f;  // after all three: 1 is before 0
}

__global__ void mixed_readers_one_forgotten(int* out) {
  float* s = zeroed();
  const unsigned lane = threadIdx.x;
  if (lane < 2) out[lane] = int(s[21]);
  if (lane < 2) __syncwarp(0x3u);
  if (lane == 1) __syncwarp(0x2u);
  if (lane < 3) out[lane] += int(s[21]);  // [read] by lane 1 too, after all that 0 knows of it
  if (lane == 0 || lane == 2 || lane == 3) __syncwarp(0xDu);
  if (lane == 3) s[21] = 1.0f;  // [write]
}

__global__ void readers_before_and_after_sync(int* out) {
  float* s = zeroed();
  out[threadIdx.x] = int(s[21]);
  __syncwarp();
  if (threadIdx.x == 6) out[6] += int(s[21]);  // [read]
  if (threadIdx.x == 9) s[21] = 1.0f;          // [write]
}

__global__ void two_readers_one_writes(int* out) {
  float* s = zeroed();
  if (threadIdx.x == 3 || threadIdx.x == 6) out[threadIdx.x] = int(s[21]);  // [read]
  out[threadIdx.x] += __shfl_sync(FULL_WARP, 1, 0);
  if (threadIdx.x == 3) s[21] = 1.0f;  // [write]
}

// --- initialisation and bounds -------------------------------------------------------------------

__global__ void read_uninitialised(int* out) {
  SmemCursor cursor;
  half* h = cursor.array<half>("h", 8, 24);
  float* f = cursor.array<float>("f", 10, 1);
  if (threadIdx.x != 37) h[threadIdx.x] = half(1.0f);
  if (threadIdx.x < 9) f[threadIdx.x] = 1.0f;
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = int(float(h[threadIdx.x]));  // [half]
  if (threadIdx.x == 40) out[blockIdx.x * blockDim.x] += int(f[9]);         // [float]
}

__global__ void half_initialised(int* out) {
  SmemCursor cursor;
  half2* pairs = cursor.array<half2>("pairs", 4, 8);
  if (threadIdx.x == 0) pairs[10].x = half(1.0f);
  if (threadIdx.x == 0) out[0] = int(float(pairs[10].x));  // fine
  if (threadIdx.x == 0) {
    const half2 both = pairs[10];  // [read]
    out[0] += int(float(both.x) + float(both.y));
  }
}

__global__ void initialised_by_all(int* out) {
  SmemCursor cursor;
  unsigned char* bytes = cursor.array<unsigned char>("bytes", 64, 16);
  if (threadIdx.x < 64) reinterpret_cast<uint4*>(bytes)[threadIdx.x] = make_uint4(1, 2, 3, 4);
  __syncthreads();
  const int i = int(threadIdx.x);
  out[i] = bytes[i] + int(reinterpret_cast<std::uint64_t*>(bytes)[i]) + reinterpret_cast<short*>(bytes)[i];
}

__global__ void past_request(int* out) {
  SmemCursor cursor;
  half* a = cursor.array<half>("a", 16, 8);
  for (int i = 0; i < 4; ++i) a[32 * i + threadIdx.x] = half(0.0f);
  __syncwarp();
  if (threadIdx.x == 11) a[128] = half(1.0f);                  // [write]
  if (threadIdx.x == 12) out[12] = int(float(a[16 * 8 + 9]));  // [read]
}

__global__ void past_short_request(int* out) {  // the launch asks for 200 of these 256 bytes
  SmemCursor cursor;
  half* a = cursor.array<half>("a", 16, 8);
  if (threadIdx.x == 0) a[99] = half(1.0f);
  if (threadIdx.x == 0) a[100] = half(1.0f);  // [write]
  out[threadIdx.x] = 0;
}

__global__ void into_gap(int* out) {
  SmemCursor cursor;
  half* a = cursor.array<half>("a", 16, 8);
  float* b = cursor.array<float>("b", 4, 16);
  for (int i = 0; i < 4; ++i) a[32 * i + threadIdx.x] = half(0.0f);
  for (int i = 0; i < 2; ++i) b[32 * i + threadIdx.x] = 0.0f;
  __syncwarp();
  if (threadIdx.x == 5) out[5] = int(float(a[17 * 8 + 3]));  // [read]
  if (threadIdx.x == 6) b[-1] = 1.0f;                        // [write]
}

__global__ void past_static(int* out) {
  LAB_SHARED(float, table, [8][32]);
  for (int i = 0; i < 8; ++i) table[i][threadIdx.x] = 0.0f;
  __syncwarp();
  float* flat = &table[0][0];
  asm volatile("" : "+r"(flat));
  if (threadIdx.x == 5) out[5] = int(flat[8 * 32 + 2]);  // [read]
}

__global__ void before_static(int* out) {
  LAB_SHARED(float, table, [8][32]);
  float* flat = &table[0][0];
  asm volatile("" : "+r"(flat));
  if (threadIdx.x == 5) flat[-3] = 1.0f;  // [write]
  out[threadIdx.x] = 0;
}

__global__ void before_first(int* out) {
  SmemCursor cursor;
  half* a = cursor.array<half>("a", 16, 8);
  if (threadIdx.x == 5) a[-1] = half(1.0f);  // [write]
  out[threadIdx.x] = 0;
}

__global__ void past_global(int* out) {  // `out` has an int a thread
  const unsigned n = gridDim.x * blockDim.x;
  if (threadIdx.x == 20) out[n] = 1;                                          // [write]
  if (threadIdx.x == 40) out[blockIdx.x * blockDim.x + 40] = out[n + 5] + 1;  // [read]
}

__global__ void past_global_by_half(int* out) {
  const unsigned n = gridDim.x * blockDim.x;
  auto* last = reinterpret_cast<std::uint64_t*>(out + n - 1);
  asm volatile("" : "+r"(last));
  if (threadIdx.x == 20) *last = 1;  // [write]
}

__global__ void inside_global(int* out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = int(i);
  if (i % 4 == 0) *reinterpret_cast<uint4*>(out + i) = make_uint4(i, i, i, i);
}

// --- cp.async ------------------------------------------------------------------------------------

__global__ void copy_read_by_issuer(int* out) {
  SmemCursor cursor;
  int* s = cursor.array<int>("s", 4, 4);
  if (threadIdx.x == 33) {
    __pipeline_memcpy_async(s + 8, out, 16);  // [copy]
    __pipeline_commit();
    out[33] = s[9];  // [read]
    __pipeline_wait_prior(0);
    out[33] += s[9];
  }
}

__global__ void copy_read_by_other(int* out) {  // a barrier without a wait makes nothing visible
  SmemCursor cursor;
  int* s = cursor.array<int>("s", 4, 4);
  if (threadIdx.x == 33) {
    __pipeline_memcpy_async(s + 8, out, 16);  // [copy]
    __pipeline_commit();
  }
  __syncthreads();
  if (threadIdx.x == 2) out[2] = s[11];  // [read]
  __syncthreads();
  if (threadIdx.x == 33) __pipeline_wait_prior(0);
}

__global__ void copy_written_by_other(int* out) {
  SmemCursor cursor;
  int* s = cursor.array<int>("s", 4, 4);
  if (threadIdx.x == 33) __pipeline_memcpy_async(s + 8, out, 8);  // [copy]
  __syncthreads();
  if (threadIdx.x == 34) s[8] = 1;   // [write]
  if (threadIdx.x == 35) s[10] = 1;  // beside the copy
  __syncthreads();
  if (threadIdx.x == 33) {
    __pipeline_commit();
    __pipeline_wait_prior(0);
  }
}

__global__ void copy_no_barrier(int* out) {
  SmemCursor cursor;
  int* s = cursor.array<int>("s", 4, 4);
  if (threadIdx.x == 2) {
    __pipeline_memcpy_async(s + 8, out, 16);  // [copy]
    __pipeline_commit();
    __pipeline_wait_prior(0);
  }
  if (threadIdx.x == 33) out[33] = s[11];  // [read]
}

__global__ void copy_no_syncwarp(int* out) {
  SmemCursor cursor;
  int* s = cursor.array<int>("s", 4, 4);
  if (threadIdx.x == 2) {
    __pipeline_memcpy_async(s + 8, out, 16);  // [copy]
    __pipeline_commit();
    __pipeline_wait_prior(0);
  }
  if (threadIdx.x == 30) out[30] = s[11];  // [read]
}

__global__ void copy_right(int* out) {
  SmemCursor cursor;
  int* s = cursor.array<int>("s", 32, 4);
  for (int round = 0; round < 3; ++round) {
    if (threadIdx.x < 32) {
      __pipeline_memcpy_async(s + 4 * threadIdx.x, out, 16);
      __pipeline_commit();
      __pipeline_wait_prior(0);
    }
    __syncthreads();
    out[threadIdx.x] = s[127 - threadIdx.x];
    __syncthreads();
  }
}

__global__ void copy_one_group_early(int* out) {
  SmemCursor cursor;
  int* s = cursor.array<int>("s", 8, 4);
  if (threadIdx.x != 0) return;
  __pipeline_memcpy_async(s, out, 16);
  __pipeline_commit();
  __pipeline_memcpy_async(s + 4, out + 4, 16);  // [copy]
  __pipeline_commit();
  __pipeline_wait_prior(1);
  out[0] = s[0];
  out[1] = s[4];  // [read]
  __pipeline_wait_prior(0);
  out[2] = s[4];
}

__global__ void copy_buffer_reused_early(int* out) {
  SmemCursor cursor;
  int* s = cursor.array<int>("s", 8, 4);
  if (threadIdx.x == 0) s[5] = 1;
  __syncthreads();
  if (threadIdx.x == 40) out[40] = s[5];                          // [read]
  if (threadIdx.x == 3) __pipeline_memcpy_async(s + 4, out, 16);  // [copy]
}

__global__ void copy_left_behind(int* out) {  // the issuer returns, and has never waited
  SmemCursor cursor;
  int* s = cursor.array<int>("s", 8, 4);
  if (threadIdx.x == 3) {
    __pipeline_memcpy_async(s + 4, out, 16);  // [copy]
    __pipeline_commit();
    return;
  }
  __syncthreads();                        // [barrier]
  if (threadIdx.x == 40) out[40] = s[5];  // [read]
}

__global__ void copy_twice(int* out) {  // the wait of the second is not the first one's
  SmemCursor cursor;
  int* s = cursor.array<int>("s", 8, 4);
  if (threadIdx.x == 3) __pipeline_memcpy_async(s + 4, out, 16);  // [first]
  __syncthreads();
  if (threadIdx.x == 40) {
    __pipeline_memcpy_async(s + 4, out, 16);  // [second]
    __pipeline_commit();
    __pipeline_wait_prior(0);
  }
  __syncthreads();
  if (threadIdx.x == 50) out[50] = s[5];  // [read]
}

__global__ void copy_two_stages(int* out) {  // one copy always in flight, one barrier a round
  SmemCursor cursor;
  int* s = cursor.array<int>("s", 2, 128);
  const auto issue = [&](int round) {
    if (threadIdx.x < 32) {
      if (round < 5) __pipeline_memcpy_async(s + round % 2 * 128 + 4 * threadIdx.x, out, 16);
      __pipeline_commit();
    }
  };
  issue(0);
  for (int round = 0; round < 5; ++round) {
    if (threadIdx.x < 32) __pipeline_wait_prior(0);
    __syncthreads();
    issue(round + 1);
    out[threadIdx.x] = s[round % 2 * 128 + 127 - int(threadIdx.x)];
  }
}

__global__ void copy_zero_filled(int* out) {
  SmemCursor cursor;
  int* s = cursor.array<int>("s", 32, 4);
  const unsigned i = threadIdx.x;
  // Nothing is read: the source may lie anywhere.
  __pipeline_memcpy_async(s + 4 * i, out + gridDim.x * blockDim.x, 16, 16);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  out[i] = s[4 * i + 3];
}

__global__ void copy_past_request(int* out) {
  SmemCursor cursor;
  int* s = cursor.array<int>("s", 8, 4);
  if (threadIdx.x == 17) __pipeline_memcpy_async(s + 32, out, 16);  // [copy]
  __pipeline_commit();
  __pipeline_wait_prior(0);
}

__global__ void copy_past_global(int* out) {
  SmemCursor cursor;
  int* s = cursor.array<int>("s", 8, 4);
  if (threadIdx.x == 17) __pipeline_memcpy_async(s, out + gridDim.x * blockDim.x, 16);  // [copy]
  __pipeline_commit();
  __pipeline_wait_prior(0);
}

// --- barriers ------------------------------------------------------------------------------------

__global__ void two_barriers(int* out) {
  if (threadIdx.x < 40) {
    __syncthreads();  // [one]
    out[threadIdx.x] = 1;
  } else {
    __syncthreads();  // [other]
    out[threadIdx.x] = 2;
  }
}

__global__ void exited_before_barrier(int* out) {
  if (threadIdx.x % 32 == 7) return;
  __syncthreads();  // [barrier]
  out[blockIdx.x * blockDim.x + threadIdx.x] = 1;
}

// --- atomics -------------------------------------------------------------------------------------

__global__ void atomic_histogram(int* out) {
  SmemCursor cursor;
  int* bins = cursor.array<int>("bins", 8, 1);
  if (threadIdx.x < 8) bins[threadIdx.x] = 0;
  __syncthreads();
  __atomic_fetch_add(&bins[threadIdx.x % 5], 1, __ATOMIC_RELAXED);
  __syncthreads();
  if (threadIdx.x < 8) out[threadIdx.x] = bins[threadIdx.x];
}

// How many of five things that every atomic must do went right; by one thread, after all have added 1.
template <class Int>
__device__ int atomics_on(int* shared) {
  Int* cell = reinterpret_cast<Int*>(shared);
  constexpr int ORDER = __ATOMIC_SEQ_CST;
  __atomic_fetch_add(cell, Int(1), ORDER);
  __syncthreads();
  if (threadIdx.x != 5) return 0;
  Int expected = Int(blockDim.x);
  int good = __atomic_load_n(cell, ORDER) == expected;
  good += __atomic_compare_exchange_n(cell, &expected, Int(7), false, ORDER, ORDER);
  good += !__atomic_compare_exchange_n(cell, &expected, Int(9), true, ORDER, ORDER) && expected == 7;
  good += __atomic_exchange_n(cell, Int(11), ORDER) == 7;
  __atomic_store_n(cell, Int(13), ORDER);
  return good + (__atomic_load_n(cell, ORDER) == 13);
}

__global__ void atomic_widths(int* out) {
  SmemCursor cursor;
  int* cells = cursor.array<int>("cells", 8, 1);
  if (threadIdx.x < 8) cells[threadIdx.x] = 0;
  __syncthreads();
  out[threadIdx.x] = atomics_on<unsigned char>(&cells[0]) + atomics_on<unsigned short>(&cells[2]) +
                     atomics_on<unsigned>(&cells[4]) + atomics_on<unsigned long>(&cells[6]);
}

// --- correct kernels -----------------------------------------------------------------------------

__global__ void reduction(int* out) {
  SmemCursor cursor;
  float* partial = cursor.array<float>("partial", 8, 1);
  const int warps = int(blockDim.x) / 32, warp = int(threadIdx.x) / 32, lane = int(threadIdx.x) % 32;
  for (int round = 0; round < 3; ++round) {
    const float s = warp_sum(float(threadIdx.x) + float(round));
    if (lane == 0) partial[warp] = s;
    __syncthreads();
    if (warp == 0) {
      const float total = warp_sum(lane < warps ? partial[lane] : 0.0f);
      if (lane == 0) out[blockIdx.x * blockDim.x + round] = int(total);
    }
    __syncthreads();
  }
}

__global__ void transpose(int* out) {  // a 32 x 32 tile a block, 96 threads, padded pitch
  LAB_SHARED(float, tile, [32][33]);
  for (unsigned i = threadIdx.x; i < 1024; i += blockDim.x) tile[i / 32][i % 32] = float(i + blockIdx.x);
  __syncthreads();
  int mine = 0;
  for (unsigned i = threadIdx.x; i < 1024; i += blockDim.x) mine = mine * 31 + int(tile[i % 32][i / 32]);
  out[blockIdx.x * blockDim.x + threadIdx.x] = mine;
}

__global__ void ping_pong(int* out) {  // prefix sums: two buffers, one barrier a step
  SmemCursor cursor;
  float* buffer[2] = {cursor.array<float>("even", 96, 1), cursor.array<float>("odd", 96, 1)};
  const int i = int(threadIdx.x);
  buffer[0][i] = float(i % 7);
  __syncthreads();
  int from = 0;
  for (int distance = 1; distance < 96; distance *= 2, from ^= 1) {
    buffer[from ^ 1][i] = buffer[from][i] + (i >= distance ? buffer[from][i - distance] : 0.0f);
    __syncthreads();
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = int(buffer[from][i]);
}

// --- the compiler's ABI --------------------------------------------------------------------------

namespace {
struct Twelve {
  int word[3];
};
struct Big {
  int word[12];
};
struct [[gnu::packed]] Odd {
  char first;
  int value;
};

__device__ __forceinline__ unsigned char* opaque(unsigned char* p) {
  asm volatile("" : "+r"(p));
  return p;
}
// The compiler may not drop a store because of a later one.
#define KEEP asm volatile("" ::: "memory")

template <class T>
__device__ __forceinline__ T& as(unsigned char* p) {
  return *reinterpret_cast<T*>(p);
}
}  // namespace

// 256 bytes are asked for; every access lies past them.
__global__ void sizes_past_end(int* out) {
  SmemCursor cursor;
  unsigned char* s = opaque(cursor.array<unsigned char>("s", 256, 1) + 256);
  as<unsigned char>(s + 0) = 1;                // [write 1]
  as<std::uint16_t>(s + 16) = 1;               // [write 2]
  as<std::uint32_t>(s + 32) = 1;               // [write 4]
  as<std::uint64_t>(s + 48) = 1;               // [write 8]
  as<unsigned __int128>(s + 64) = 1;           // [write 16]
  int sum = as<unsigned char>(s + 80);         // [read 1]
  sum += as<std::uint16_t>(s + 96);            // [read 2]
  sum += int(as<std::uint32_t>(s + 112));      // [read 4]
  sum += int(as<std::uint64_t>(s + 128));      // [read 8]
  sum += int(as<unsigned __int128>(s + 144));  // [read 16]
  out[threadIdx.x] = sum;
}

// The last byte of every access is the last of the request.
__global__ void sizes_up_to_end(int* out) {
  SmemCursor cursor;
  unsigned char* end = opaque(cursor.array<unsigned char>("s", 256, 1) + 256);
  as<unsigned __int128>(end - 16) = 1;
  as<std::uint64_t>(end - 8) = 1;
  as<std::uint32_t>(end - 4) = 1;
  as<std::uint16_t>(end - 2) = 1;
  as<unsigned char>(end - 1) = 1;
  out[threadIdx.x] = int(as<unsigned __int128>(end - 16)) + int(as<std::uint64_t>(end - 8)) +
                     int(as<std::uint32_t>(end - 4)) + as<std::uint16_t>(end - 2) + as<unsigned char>(end - 1);
}

// Only the last two bytes of every access lie past the end of the array's 256.
__global__ void sizes_across_end(int* out) {
  SmemCursor cursor;
  unsigned char* end = opaque(cursor.array<unsigned char>("s", 256, 1) + 256);
  for (int i = 4; i <= 16; i += 4) as<std::uint32_t>(end - i) = 1;
  struct [[gnu::packed]] P4 {
    std::uint32_t v;
  };
  struct [[gnu::packed]] P8 {
    std::uint64_t v;
  };
  as<P4>(end - 2).v = 1;  // [write 4]
  KEEP;
  as<P8>(end - 6).v = 1;  // [write 8]
  KEEP;
  int sum = int(as<P4>(end - 2).v);  // [read 4]
  KEEP;
  sum += int(as<P8>(end - 6).v);  // [read 8]
  KEEP;
  out[threadIdx.x] = sum;
}

__global__ void ranges_past_end(int* out) {
  SmemCursor cursor;
  unsigned char* s = cursor.array<unsigned char>("s", 256, 1);
  for (int i = 0; i < 64; ++i) as<int>(s + 4 * i) = i;
  unsigned char* end = opaque(s + 256);
  as<Twelve>(end - 8) = as<Twelve>(s);  // [write 12]
  KEEP;
  as<Twelve>(s) = as<Twelve>(end - 4);  // [read 12]
  KEEP;
  as<Big>(end - 32) = as<Big>(s);  // [write 48]
  KEEP;
  as<Big>(s) = as<Big>(end - 16);  // [read 48]
  KEEP;
  as<Odd>(end - 3).value = 5;  // [write odd]
  KEEP;
  out[threadIdx.x] = as<Odd>(end - 1).value;  // [read odd]
  KEEP;
  volatile int* v = reinterpret_cast<volatile int*>(end + 32);
  *v = 1;  // [write volatile]
  KEEP;
  out[threadIdx.x] += v[1];  // [read volatile]
  KEEP;
  __builtin_memcpy(end + 64, s, 16);  // [write memcpy]
  KEEP;
}

__global__ void sizes_past_global(int* out) {
  unsigned char* s = opaque(reinterpret_cast<unsigned char*>(out + gridDim.x * blockDim.x));
  as<unsigned char>(s + 0) = 1;                // [write 1]
  as<std::uint16_t>(s + 16) = 1;               // [write 2]
  as<std::uint32_t>(s + 32) = 1;               // [write 4]
  as<std::uint64_t>(s + 48) = 1;               // [write 8]
  as<unsigned __int128>(s + 64) = 1;           // [write 16]
  int sum = as<unsigned char>(s + 80);         // [read 1]
  sum += as<std::uint16_t>(s + 96);            // [read 2]
  sum += int(as<std::uint32_t>(s + 112));      // [read 4]
  sum += int(as<std::uint64_t>(s + 128));      // [read 8]
  sum += int(as<unsigned __int128>(s + 144));  // [read 16]
  out[threadIdx.x] = sum;
}

// --- a line that a patch added: the last kernel, for the numbers are not this file's from here on ------------

__global__ void added_by_patch(int* out) {
  float* s = zeroed();
  if (threadIdx.x == 41) out[41] = int(s[21]);  // [read]
#line 8 "checks/tests/sample.patch"
  if (threadIdx.x == 3) s[21] = 1.0f;
}

}  // namespace lab::checker_kernels
