// Masking and weighing a stripe, 16 rows of a warp's scores in mma.sync's accumulators: of every eight columns a lane
// has two, in two rows, h = 0 and 1: [..][2 h] and [..][2 h + 1]. Its quad has the other columns of its rows.
#pragma once
#include <cuda_runtime.h>

#include "common/half_pair.cuh"
#include "common/ptx/ex2.cuh"
#include "common/warp.cuh"

namespace lab {

// Hides the scores of keys from S on, and under a causal mask those of keys after the row's own. first_row: the query of
// the lane's first row; first_key: the key of the tile's first column; column: the lane's first.
template <int TILES>
__device__ __forceinline__ void hide_keys(float (&s)[TILES][4], int first_row, int first_key, int column, int S,
                                          bool causal) {
  for (int n = 0; n < TILES; ++n)
    for (int e = 0; e < 4; ++e) {
      const int key = first_key + 8 * n + column + e % 2;
      const int row = first_row + e / 2 * 8;
      if (key >= S || (causal && key > row)) s[n][e] = -INFINITY;
    }
}

// The online softmax: p gets the weights of the scores s, as A operands of 16 keys each; row_max becomes the largest
// score so far, and row_sum, the lane's own columns only, and o become relative to it, where the maximum of one of the
// warp's rows has grown. scale_log2: common/exp2_scale.cuh.
template <int TILES, int COLUMNS>
__device__ __forceinline__ void weigh_stripe(const float (&s)[TILES][4], float scale_log2, unsigned (&p)[TILES / 2][4],
                                             float (&row_max)[2], float (&row_sum)[2], float (&o)[COLUMNS][4]) {
  float old_max[2];
  for (int h = 0; h < 2; ++h) {
    float tile_max = fmaxf(s[0][2 * h], s[0][2 * h + 1]);
    for (int n = 1; n < TILES; ++n) tile_max = fmaxf(tile_max, fmaxf(s[n][2 * h], s[n][2 * h + 1]));
    old_max[h] = row_max[h];
    row_max[h] = fmaxf(old_max[h], quad_max(tile_max));
  }
  if (__any_sync(FULL_WARP, row_max[0] > old_max[0] || row_max[1] > old_max[1])) {
    for (int h = 0; h < 2; ++h) {
      const float base = row_max[h] == -INFINITY ? 0.0f : row_max[h];
      const float rescale = ptx::ex2((old_max[h] - base) * scale_log2);
      row_sum[h] *= rescale;
      for (int d = 0; d < COLUMNS; ++d) o[d][2 * h] *= rescale, o[d][2 * h + 1] *= rescale;
    }
  }
  for (int h = 0; h < 2; ++h) {
    const float base = row_max[h] == -INFINITY ? 0.0f : row_max[h];  // an empty row stays empty
    for (int n = 0; n < TILES; ++n) {
      const float p0 = ptx::ex2((s[n][2 * h] - base) * scale_log2),
                  p1 = ptx::ex2((s[n][2 * h + 1] - base) * scale_log2);
      row_sum[h] += p0 + p1;
      p[n / 2][n % 2 * 2 + h] = half_pair(p0, p1);
    }
  }
}

}  // namespace lab
