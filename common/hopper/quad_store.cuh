// A row of a wgmma accumulator to memory, 16 bytes per lane. A quad's four lanes hold a row between them, two columns
// of every eight each; they exchange them so that each holds eight neighbours.
#pragma once
#include <cuda_fp16.h>

#include "common/tile.cuh"
#include "common/warp.cuh"

namespace lab {

// Four registers of each of a quad's lanes: register i of lane t and register t of lane i change places.
__device__ __forceinline__ void transpose_quad(unsigned (&x)[4], int lane) {
#pragma unroll
  for (int bit = 1; bit < 4; bit *= 2)
#pragma unroll
    for (int i = 0; i < 4; ++i)
      if (!(i & bit)) {
        unsigned &low = x[i], &high = x[i + bit];
        const unsigned got = __shfl_xor_sync(FULL_WARP, lane & bit ? low : high, bit);
        (lane & bit ? low : high) = got;
      }
}

// The lane's first (h = 0) or second (h = 1) row of `o` times `norm`, as halves, to `to`, if the row is one of S.
// o: m64nN accumulator layout. All lanes of the warp call it together.
template <int COLUMNS>
__device__ __forceinline__ void store_row(half* to, int row, int S, const float (&o)[COLUMNS][4], int h, float norm,
                                          int lane) {
#pragma unroll
  for (int d = 0; d < COLUMNS; d += 4) {
    unsigned x[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) x[i] = half_pair(o[d + i][2 * h] * norm, o[d + i][2 * h + 1] * norm);
    transpose_quad(x, lane);  // now 8 columns from 8 (d + lane % 4) on
    if (row < S) *reinterpret_cast<uint4*>(to + 8 * (d + lane % 4)) = make_uint4(x[0], x[1], x[2], x[3]);
  }
}

}  // namespace lab
