// Tiles from global to shared memory, 16 bytes at a time. PLACE(r, c) says where column c of row r of the tile lies
// in its array.
#pragma once
#include <cuda_fp16.h>
#include <cuda_pipeline.h>

#include "common/tile.cuh"

namespace lab {

// Queues the copies of rows n0 .. n0 + ROWS - 1 of `from` ([S][D]) by cp.async, for all THREADS threads of the block to
// call; the caller commits. Rows from `keys` on become zeros: a stale NaN would survive being multiplied by a zero
// weight. A whole tile needs no test per row: its addresses are one base and constants.
template <int ROWS, int D, int (*PLACE)(int r, int c), int THREADS>
__device__ __forceinline__ void copy_rows_async(half* to, const half* from, int n0, int keys) {
  constexpr int STEP = THREADS / (D / 8);  // rows that the block copies at a time
  static_assert(ROWS % STEP == 0 && PLACE(STEP + 1, 8) == PLACE(1, 8) + STEP * D,
                "whole passes, each placed as the first");
  const int r = threadIdx.x / (D / 8), c = threadIdx.x % (D / 8) * 8;
  to += PLACE(r, c);
  from += (n0 + r) * D + c;
  if (n0 + ROWS <= keys) {
#pragma unroll
    for (int i = 0; i < ROWS; i += STEP) __pipeline_memcpy_async(to + i * D, from + i * D, 16);
  } else {
#pragma unroll
    for (int i = 0; i < ROWS; i += STEP) {
      const bool inside = n0 + r + i < keys;
      __pipeline_memcpy_async(to + i * D, inside ? from + i * D : from - (n0 + r) * D, 16, inside ? 0 : 16);
    }
  }
}

}  // namespace lab
