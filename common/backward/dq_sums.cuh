// dQ from the sums that b4, b5 and b6 add to, which lie as a warpgroup has them: a tile is two parts of 64 x 64, at D = 64
// one below the other, at D = 128 side by side; a part is [8 columns after 8][thread][4 accumulators].
#pragma once
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "common/tile.cuh"

namespace lab {

inline constexpr int DQ_ROWS = 64, DQ_COLS = 64, DQ_SIZE = DQ_ROWS * DQ_COLS;  // of a part, which a warpgroup makes
inline constexpr int DQ_PARTS = 2;                                             // of a tile

// By a warpgroup for each part of a tile: dQ, scaled, rounded, and in place. dq_sum: [B, H, tiles, M * D]; units: [B, H].
template <int M, int D>
__global__ void __launch_bounds__(DQ_PARTS * 128)
    round_sums(const float* __restrict__ dq_sum, const float* __restrict__ units, half* __restrict__ dq, int H, int S,
               float scale) {
  const int part = threadIdx.x / 128, warp = threadIdx.x % 128 / 32, lane = threadIdx.x % 32;
  const std::size_t head = std::size_t(blockIdx.z) * H + blockIdx.y;
  const float* sums = dq_sum + ((head * gridDim.x + blockIdx.x) * DQ_PARTS + part) * DQ_SIZE + threadIdx.x % 128 * 4;
  const int row0 = blockIdx.x * M + (D == 64 ? part * DQ_ROWS : 0) + warp * 16 + lane / 4;
  const int col0 = (D == 64 ? 0 : part * DQ_COLS) + lane % 4 * 2;
  dq += head * S * D;
  scale *= units[head];
#pragma unroll
  for (int n = 0; n < DQ_COLS / 8; ++n)
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const float2 sum = *reinterpret_cast<const float2*>(sums + n * 4 * 128 + 2 * h);
      const int row = row0 + 8 * h;
      if (row < S) store2(dq + std::size_t(row) * D + col0 + 8 * n, sum.x * scale, sum.y * scale);
    }
}

}  // namespace lab
