// The online softmax in the accumulators of mma.sync and wgmma: of every eight columns a lane has two, in two rows, 8
// apart: s[n][2 h] and s[n][2 h + 1] are columns 8 n + first_column and the next, of the lane's first (h = 0) or second
// (h = 1) row. The stages up to v3b write these lines out; those after it include them. In FlashAttention-3 weigh() is two
// functions, max_get_scale and online_softmax; rescale_o has the same name.
#pragma once
#include <cuda_runtime.h>

#include "common/ptx/ex2.cuh"
#include "common/tile.cuh"
#include "common/warp.cuh"

namespace lab {

// Hides, in the lane's row h, the scores of the columns after `last`, counted from the lane's first column.
template <int TILES>
__device__ __forceinline__ void hide_after(float (&s)[TILES][4], int h, int last) {
#pragma unroll
  for (int n = 0; n < TILES; ++n)
#pragma unroll
    for (int e = 0; e < 2; ++e)
      if (8 * n + e > last) s[n][2 * h + e] = -INFINITY;
}

// Hides the scores of keys from S on, and under a causal mask those after the row's own. row: the query of the lane's
// first row; key: that of its first column.
template <int TILES>
__device__ __forceinline__ void hide_keys(float (&s)[TILES][4], int row, int key, int S, bool causal) {
#pragma unroll
  for (int h = 0; h < 2; ++h) hide_after(s, h, (causal ? min(row + 8 * h, S - 1) : S - 1) - key);
}

// The weight of a row's largest score, 2^(scale_log2 m - base), is 2^r: base is scale_log2 m, rounded, and r its error.
// All weights of the row have that factor, which cancels in O / l. Up to a base of 2^27 |r| is at most 4.
inline constexpr float LARGEST_REFERENCE = 134217728.0f;  // 2^27

// Scores become weights relative to row_max, the row's new maximum, and so does row_sum, of the lane's own columns only.
// O has yet to: by rescale. A weight is one fmaf and an ex2. Beyond LARGEST_REFERENCE the factor is a power of two, at
// or above scale_log2, whose product with the maximum is exact (bug contracted_exponent).
template <int TILES>
__device__ __forceinline__ void weigh(float (&s)[TILES][4], float scale_log2, float (&row_max)[2], float (&row_sum)[2],
                                      float (&rescale)[2]) {
  const float power = __uint_as_float((__float_as_uint(scale_log2) + 0x7FFFFF) & 0x7F800000);
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    float tile_max = fmaxf(s[0][2 * h], s[0][2 * h + 1]);
#pragma unroll
    for (int n = 1; n < TILES; ++n) tile_max = fmaxf(tile_max, fmaxf(s[n][2 * h], s[n][2 * h + 1]));
    const float old_max = row_max[h];
    row_max[h] = fmaxf(old_max, quad_max(tile_max));
    const bool huge = fabsf(row_max[h] * scale_log2) > LARGEST_REFERENCE;
    const float factor = huge ? power : scale_log2, base = row_max[h] * factor;
    rescale[h] = ptx::ex2(old_max * factor - base);
    row_sum[h] *= rescale[h];
#pragma unroll
    for (int n = 0; n < TILES; ++n) {
      float &p0 = s[n][2 * h], &p1 = s[n][2 * h + 1];
      p0 = ptx::ex2(fmaf(p0, factor, -base)), p1 = ptx::ex2(fmaf(p1, factor, -base));
      row_sum[h] += p0 + p1;
    }
  }
}

// O = O rescale.
template <int COLUMNS>
__device__ __forceinline__ void rescale_o(float (&o)[COLUMNS][4], const float (&rescale)[2]) {
#pragma unroll
  for (int d = 0; d < COLUMNS; ++d)
#pragma unroll
    for (int e = 0; e < 4; ++e) o[d][e] *= rescale[e / 2];
}

// Weights of keys from .. to - 1 as halves: A operands of 16 keys each.
template <int TILES>
__device__ __forceinline__ void pack(unsigned (&p)[TILES / 2][4], const float (&s)[TILES][4], int from = 0,
                                     int to = 8 * TILES) {
#pragma unroll
  for (int n = from / 8; n < to / 8; ++n)
#pragma unroll
    for (int h = 0; h < 2; ++h) p[n / 2][n % 2 * 2 + h] = half_pair(s[n][2 * h], s[n][2 * h + 1]);
}

}  // namespace lab
