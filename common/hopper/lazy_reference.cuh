// The weights of a tile relative to a reference that moves only when it must, for v3g and the stages after it. Of the
// m64nN accumulator a lane has two rows, h = 0 and 1, and of every eight columns two.
// s: scores, then weights; o: O. row_max: the score of weight 1; reference: row_max times scale_log2; row_sum: of all
// tiles before; sum: of this tile; both of the lane's own columns.
#pragma once
#include <cuda_runtime.h>

#include "common/hopper/swizzle.cuh"
#include "common/ptx/ex2.cuh"
#include "common/ptx/mma.cuh"
#include "common/ptx/tma.cuh"
#include "common/softmax.cuh"
#include "common/warp.cuh"

namespace lab {

// Beyond LARGEST_REFERENCE (common/softmax.cuh) the difference s - row_max must come first.
// The score whose weight relative to m is the largest power of two up to sum. Where sum is below 2, m itself.
__device__ __forceinline__ float raised(float m, float sum, float scale_log2) {
  const int exponent = int(__float_as_uint(sum) >> 23) - 127;
  return m + float(max(exponent, 0)) * ptx::rcp(scale_log2);
}

// Weights of keys from .. to - 1, in place of their scores.
template <int TILES>
__device__ __forceinline__ void weigh(float (&s)[TILES][4], float (&sum)[2], float scale_log2,
                                      const float (&reference)[2], int from = 0, int to = 8 * TILES) {
#pragma unroll
  for (int h = 0; h < 2; ++h)
#pragma unroll
    for (int n = from / 8; n < to / 8; ++n) {
      float &p0 = s[n][2 * h], &p1 = s[n][2 * h + 1];
      p0 = ptx::ex2(fmaf(p0, scale_log2, -reference[h])), p1 = ptx::ex2(fmaf(p1, scale_log2, -reference[h]));
      sum[h] += p0 + p1;
    }
}

// All weights, relative to a reference that no score of the tile exceeds.
template <int TILES, int COLUMNS>
__device__ __forceinline__ void weigh_anew(float scale_log2, float (&s)[TILES][4], float (&o)[COLUMNS][4],
                                           float (&row_max)[2], float (&row_sum)[2], float (&reference)[2],
                                           float (&sum)[2]) {
  bool huge[2];
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    float tile_max = fmaxf(s[0][2 * h], s[0][2 * h + 1]);
#pragma unroll
    for (int n = 1; n < TILES; ++n) tile_max = fmaxf(tile_max, fmaxf(s[n][2 * h], s[n][2 * h + 1]));
    const float old_max = row_max[h];
    row_max[h] = fmaxf(old_max, quad_max(tile_max));
    reference[h] = row_max[h] * scale_log2, huge[h] = fabsf(reference[h]) > LARGEST_REFERENCE;
    float first = 0.0f;
    if (huge[h]) {  // the difference first
      first = row_max[h], reference[h] = 0.0f;
#pragma unroll
      for (int n = 0; n < TILES; ++n) s[n][2 * h] -= first, s[n][2 * h + 1] -= first;
    }
    const float rescale = ptx::ex2((old_max - first) * scale_log2 - reference[h]);
    row_sum[h] *= rescale, sum[h] = 0.0f;
#pragma unroll
    for (int d = 0; d < COLUMNS; ++d) o[d][2 * h] *= rescale, o[d][2 * h + 1] *= rescale;
  }
  weigh(s, sum, scale_log2, reference);
#pragma unroll
  for (int h = 0; h < 2; ++h)
    if (huge[h]) reference[h] = -INFINITY;  // fails the next tile, which comes here again
}

// Weights that a half cannot hold are still finite as floats: a power of two lowers them, and raises the reference.
template <int TILES, int COLUMNS>
__device__ __forceinline__ void raise_reference(float scale_log2, float (&s)[TILES][4], float (&o)[COLUMNS][4],
                                                float (&row_max)[2], float (&row_sum)[2], float (&reference)[2],
                                                float (&sum)[2]) {
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const float old = reference[h];
    row_max[h] = raised(row_max[h], quad_sum(sum[h]), scale_log2), reference[h] = row_max[h] * scale_log2;
    const float rescale = ptx::ex2(old - reference[h]);
    row_sum[h] *= rescale, sum[h] *= rescale;
#pragma unroll
    for (int d = 0; d < COLUMNS; ++d) o[d][2 * h] *= rescale, o[d][2 * h + 1] *= rescale;
#pragma unroll
    for (int n = 0; n < TILES; ++n) s[n][2 * h] *= rescale, s[n][2 * h + 1] *= rescale;
  }
}

// The scores of a tile once more, by one warp alone: mma.sync needs no other warp of the warpgroup, and its accumulators are
// those of wgmma, eight columns each.
// s = rows first_row .. first_row + 15 of Q times K^T, m64nN accumulator layout. Q: M rows; K: N rows; both as in
// common/hopper/swizzle.cuh.
template <int SLABS, int M, int N>
__device__ __forceinline__ void score_by_warp(float (&s)[N / 8][4], half (&Q)[SLABS][M][SLAB],
                                              half (&K)[SLABS][N][SLAB], int first_row, int lane) {
  float c[N / 8][4] = {};
#pragma unroll 1
  for (int k = 0; k < SLABS * SLAB; k += 16) {
    unsigned a[4], b0[2], b1[2];
    ptx::ldmatrix_x4(a, swizzled(Q, first_row + lane % 16, k + lane / 16 * 8));
    // Eight rows further on the swizzle is the same: one address serves for all keys.
    const half* const keys = swizzled(K, lane % 8 + lane / 16 * 8, k + lane / 8 % 2 * 8);
#pragma unroll
    for (int n = 0; n < N / 8; n += 2) {
      ptx::ldmatrix_x4(b0, b1, keys + 8 * n * SLAB);
      ptx::mma_m16n8k16(c[n], a, b0);
      ptx::mma_m16n8k16(c[n + 1], a, b1);
    }
  }
  // The copy engine overwrites Q and K once they are given back. These reads were the generic proxy's, and only
  // wgmma's come before its writes without a fence. (PTX ISA, "Async Proxy".)
  ptx::fence_proxy_async();
#pragma unroll
  for (int i = 0; i < N / 2; ++i) s[i / 4][i % 4] = c[i / 4][i % 4];
  __syncwarp();  // all lanes have read K before lane 0 gives its slot back
}

}  // namespace lab
