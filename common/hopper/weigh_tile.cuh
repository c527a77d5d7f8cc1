// The online softmax of a tile in wgmma's accumulator, where a lane has two rows, h = 0 and 1, and of every eight
// columns two.
#pragma once
#include <cuda_runtime.h>

#include "common/ptx/ex2.cuh"
#include "common/warp.cuh"

namespace lab {

// In the place of the scores s their weights, relative to row_max, the row's new maximum; row_sum, the lane's own
// columns only, becomes relative to it too. O has yet to: by rescale. scale_log2: common/exp2_scale.cuh. s[FLOATS]:
// m64n(2 * FLOATS) accumulator layout.
template <int FLOATS>
__device__ __forceinline__ void weigh_tile(float (&s)[FLOATS], float scale_log2, float (&row_max)[2],
                                           float (&row_sum)[2], float (&rescale)[2]) {
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    float tile_max = fmaxf(s[2 * h], s[2 * h + 1]);
    for (int n = 1; n < FLOATS / 4; ++n) tile_max = fmaxf(tile_max, fmaxf(s[4 * n + 2 * h], s[4 * n + 2 * h + 1]));
    const float old_max = row_max[h];
    row_max[h] = fmaxf(old_max, quad_max(tile_max));
    const float base = row_max[h] == -INFINITY ? 0.0f : row_max[h];  // an empty row stays empty
    rescale[h] = ptx::ex2((old_max - base) * scale_log2);
    row_sum[h] *= rescale[h];
    for (int n = 0; n < FLOATS / 4; ++n) {
      float &p0 = s[4 * n + 2 * h], &p1 = s[4 * n + 2 * h + 1];
      p0 = ptx::ex2((p0 - base) * scale_log2), p1 = ptx::ex2((p1 - base) * scale_log2);
      row_sum[h] += p0 + p1;
    }
  }
}

}  // namespace lab
