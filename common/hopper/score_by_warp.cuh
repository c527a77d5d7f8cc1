// The scores of a tile once more, by one warp alone: mma.sync needs no other warp of the warpgroup, and its
// accumulators are those of wgmma, eight columns each.
#pragma once
#include "common/hopper/swizzle.cuh"
#include "common/ptx/ldmatrix.cuh"
#include "common/ptx/mma.cuh"

namespace lab {

// s[N / 2] = rows first_row .. first_row + 15 of Q times K^T, m64nN accumulator layout. sQ: M rows; sK: N rows; both D
// columns, as in common/hopper/swizzle.cuh.
template <int M, int N, int D>
__device__ __forceinline__ void score_by_warp(float (&s)[N / 2], const half* sQ, const half* sK, int first_row,
                                              int lane) {
#pragma unroll
  for (int n = 0; n < N / 8; n += 2) {
    float s0[4] = {}, s1[4] = {};
#pragma unroll 1
    for (int kk = 0; kk < D / 16; ++kk) {
      unsigned a[4], b0[2], b1[2];
      ptx::ldmatrix_x4(a, &sQ[swizzled<M>(first_row + lane % 16, 16 * kk + lane / 16 * 8)]);
      ptx::ldmatrix_x4(b0, b1, &sK[swizzled<N>(8 * n + lane % 8 + lane / 16 * 8, 16 * kk + lane / 8 % 2 * 8)]);
      ptx::mma_m16n8k16(s0, a, b0);
      ptx::mma_m16n8k16(s1, a, b1);
    }
#pragma unroll
    for (int e = 0; e < 4; ++e) s[4 * n + e] = s0[e], s[4 * n + 4 + e] = s1[e];
  }
  __syncwarp();  // all lanes have read K before lane 0 gives its slot back
}

}  // namespace lab
