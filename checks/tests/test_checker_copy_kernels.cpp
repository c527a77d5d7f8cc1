// cp.async, block barriers, atomics, and correct kernels (checks/tests/checked.hpp).
#include <cuda_pipeline.h>

#include "checks/tests/checked.hpp"
#include "common/warp.cuh"

namespace lab::checked {
namespace {

using enum Finding::Kind;
constexpr Size SIZE{96, 256, 1, 1};

// --- cp.async ------------------------------------------------------------------------------------

CHECKED(copy_read_by_issuer, only({before_wait, "", writes("copy", 1, 1), reads("read", 1, 1), "s[2][1]"}, {64})) {
  int* s = array<int>("s", 4, 4);
  if (threadIdx.x == 33) {
    __pipeline_memcpy_async(s + 8, out, 16);  // [copy]
    __pipeline_commit();
    out[33] = s[9];  // [read]
    __pipeline_wait_prior(0);
    out[33] += s[9];
  }
}

CHECKED(copy_read_by_other, only({before_wait, "", writes("copy", 1, 1), reads("read", 0, 2), "s[2][3]"},
                                 {64})) {  // a barrier without a wait makes nothing visible
  int* s = array<int>("s", 4, 4);
  if (threadIdx.x == 33) {
    __pipeline_memcpy_async(s + 8, out, 16);  // [copy]
    __pipeline_commit();
  }
  __syncthreads();
  if (threadIdx.x == 2) out[2] = s[11];  // [read]
  __syncthreads();
  if (threadIdx.x == 33) __pipeline_wait_prior(0);
}

CHECKED(copy_written_by_other, only({before_wait, "", writes("copy", 1, 1), writes("write", 1, 2), "s[2][0]"}, {64})) {
  int* s = array<int>("s", 4, 4);
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

// Thread 2 waits, and nothing orders the reader after that.
__device__ __forceinline__ void copied_by_2(int* out, unsigned reader) {
  int* s = array<int>("s", 4, 4);
  if (threadIdx.x == 2) {
    __pipeline_memcpy_async(s + 8, out, 16);  // [copy]
    __pipeline_commit();
    __pipeline_wait_prior(0);
  }
  if (threadIdx.x == reader) out[reader] = s[11];  // [read]
}
CHECKED(copy_no_barrier, ascending(race(writes("copy", 0, 2), reads("read", 1, 1), "s[2][3]"), {64})) {
  copied_by_2(out, 33);
}
CHECKED(copy_no_syncwarp, ascending(race(writes("copy", 0, 2), reads("read", 0, 30), "s[2][3]"), {32})) {
  copied_by_2(out, 30);
}

CHECKED(copy_right, silent({96, 512})) {
  int* s = array<int>("s", 32, 4);
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

CHECKED(copy_one_group_early, only({before_wait, "", writes("copy", 0, 0), reads("read", 0, 0), "s[1][0]"}, {32})
                                  .saying("a cp.async that no thread has waited for may still write here")) {
  int* s = array<int>("s", 8, 4);
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

CHECKED(copy_buffer_reused_early,
        descending(race(reads("read", 1, 8), writes("copy", 0, 3), "s[1][1]"),
                   {64}),  // The copy is on its way when the other warp reads.
        ascending({before_wait, "", writes("copy", 0, 3), reads("read", 1, 8), "s[1][1]"}, {64})) {
  int* s = array<int>("s", 8, 4);
  if (threadIdx.x == 0) s[5] = 1;
  __syncthreads();
  if (threadIdx.x == 40) out[40] = s[5];                          // [read]
  if (threadIdx.x == 3) __pipeline_memcpy_async(s + 4, out, 16);  // [copy]
}

CHECKED(copy_left_behind, only({before_wait, "", writes("copy", 0, 3), reads("read", 1, 8), "s[1][1]"},
                               {64})) {  // the issuer returns, and has never waited
  int* s = array<int>("s", 8, 4);
  if (threadIdx.x == 3) {
    __pipeline_memcpy_async(s + 4, out, 16);  // [copy]
    __pipeline_commit();
    return;
  }
  __syncthreads();
  if (threadIdx.x == 40) out[40] = s[5];  // [read]
}

CHECKED(copy_twice, only({{before_wait, "", writes("first", 0, 3), writes("second", 1, 8), "s[1][0]"},
                          {before_wait, "", writes("first", 0, 3), reads("read", 1, 18), "s[1][1]"}},
                         {64})) {  // the wait of the second is not the first one's
  int* s = array<int>("s", 8, 4);
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

CHECKED(copy_zero_filled, silent({32, 512})) {
  int* s = array<int>("s", 32, 4);
  const unsigned i = threadIdx.x;
  // Nothing is read: the source may lie anywhere.
  __pipeline_memcpy_async(s + 4 * i, out + gridDim.x * blockDim.x, 16, 16);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  out[i] = s[4 * i + 3];
}

CHECKED(copy_past_request,
        ascending(alone(out_of_bounds, writes("copy", 0, 17), "s[8][0], past the end of s (8 rows)"), {32, 128})
            .anywhere()) {
  int* s = array<int>("s", 8, 4);
  if (threadIdx.x == 17) __pipeline_memcpy_async(s + 32, out, 16);  // [copy]
  __pipeline_commit();
  __pipeline_wait_prior(0);
}

CHECKED(copy_past_global, ascending(alone(out_of_bounds, reads("copy", 0, 17), "global memory"), {32, 128})) {
  int* s = array<int>("s", 8, 4);
  if (threadIdx.x == 17) __pipeline_memcpy_async(s, out + gridDim.x * blockDim.x, 16);  // [copy]
  __pipeline_commit();
  __pipeline_wait_prior(0);
}

// --- barriers ------------------------------------------------------------------------------------

CHECKED(two_barriers,
        ascending({barrier, "", reads("one", 0, 0), reads("other", 1, 8), "", 24}, {64, NO_SMEM}).anywhere(),
        descending({barrier, "", reads("other", 1, 31), reads("one", 1, 7), "", 40}, {64, NO_SMEM}).anywhere()) {
  if (threadIdx.x < 40) {
    __syncthreads();  // [one]
    out[threadIdx.x] = 1;
  } else {
    __syncthreads();  // [other]
    out[threadIdx.x] = 2;
  }
}

// --- atomics -------------------------------------------------------------------------------------

CHECKED(atomic_histogram, silent({96, 32})) {
  int* bins = array<int>("bins", 8, 1);
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

CHECKED(atomic_widths, silent({96, 32})) {
  int* cells = array<int>("cells", 8, 1);
  if (threadIdx.x < 8) cells[threadIdx.x] = 0;
  __syncthreads();
  out[threadIdx.x] = atomics_on<unsigned char>(&cells[0]) + atomics_on<unsigned short>(&cells[2]) +
                     atomics_on<unsigned>(&cells[4]) + atomics_on<unsigned long>(&cells[6]);
}

// --- correct kernels -----------------------------------------------------------------------------

CHECKED(reduction, silent({256, 32, 3}), silent({96, 32, 2})) {
  float* partial = array<float>("partial", 8, 1);
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

CHECKED(transpose, silent({96, NO_SMEM, 3})) {  // a 32 x 32 tile a block, 96 threads, padded pitch
  LAB_SHARED(float, tile, [32][33]);
  for (unsigned i = threadIdx.x; i < 1024; i += blockDim.x) tile[i / 32][i % 32] = float(i + blockIdx.x);
  __syncthreads();
  unsigned mine = 0;
  for (unsigned i = threadIdx.x; i < 1024; i += blockDim.x) mine = mine * 31 + unsigned(tile[i % 32][i / 32]);
  out[blockIdx.x * blockDim.x + threadIdx.x] = int(mine);
}

CHECKED(ping_pong, silent({96, 768, 3})) {  // prefix sums: two buffers, one barrier a step
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

}  // namespace
}  // namespace lab::checked
