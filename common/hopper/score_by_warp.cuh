// The scores of a tile once more, by one warp alone: mma.sync needs no other warp of the warpgroup, and its
// accumulators are those of wgmma, eight columns each.
#pragma once
#include "common/hopper/swizzle.cuh"
#include "common/ptx/ldmatrix.cuh"
#include "common/ptx/mma.cuh"
#include "common/ptx/tma.cuh"

namespace lab {

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
