// A forward pass for the backward stages that start from what one has saved: O, rounded to fp16, and of each row
// L = log sum exp(s). In scalar code, as v1 has it; no lesson, and no part of what a backward stage's bench times.
#pragma once
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cfloat>
#include <cstddef>
#include <cstdint>

#include "common/attention.hpp"
#include "common/tile.cuh"
#include "common/warp.cuh"

namespace lab {

inline constexpr int FORWARD_WARPS = 8;
inline constexpr int FORWARD_TILE = 32;  // query rows of a block, and keys at a time: one for each lane

// rows r0 .. r0 + 31 of a [S][D] tensor, zeros past its end
template <int D>
__device__ void load_forward_tile(half (&tile)[FORWARD_TILE][D + 8], const half* tensor, int r0, int S) {
  for (int i = threadIdx.x; i < FORWARD_TILE * (D / 8); i += FORWARD_WARPS * 32) {
    const int r = i / (D / 8), c = i % (D / 8) * 8;
    copy8(&tile[r][c], tensor + std::size_t(r0 + r) * D + c, r0 + r < S);
  }
}

template <int D>
__global__ void __launch_bounds__(FORWARD_WARPS * 32)
    forward_pass(const half* __restrict__ q, const half* __restrict__ k, const half* __restrict__ v,
                 half* __restrict__ out, float* __restrict__ L, int H, int S, float scale,
                 bool causal) {  // q, k, v, out: [B, H, S, D]; L: [B, H, S]
  constexpr int TILE = FORWARD_TILE, ROWS = TILE / FORWARD_WARPS, COLS = D / 32;
  __shared__ alignas(16) half sQ[TILE][D + 8], sK[TILE][D + 8], sV[TILE][D + 8];
  __shared__ float P[TILE][TILE];

  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int q0 = blockIdx.x * TILE;
  const std::size_t first_row = (std::size_t(blockIdx.z) * H + blockIdx.y) * S, head = first_row * D;
  q += head, k += head, v += head, out += head, L += first_row;
  const int keys = causal ? min(S, q0 + TILE) : S;  // no row of this block sees a later key

  load_forward_tile<D>(sQ, q, q0, S);
  float o[ROWS][COLS] = {}, row_max[ROWS], row_sum[ROWS] = {};  // o: columns lane, lane + 32, ...
  for (int i = 0; i < ROWS; ++i) row_max[i] = -FLT_MAX;         // and not -inf: -inf - -inf is NaN

  for (int k0 = 0; k0 < keys; k0 += TILE) {
    load_forward_tile<D>(sK, k, k0, S);
    load_forward_tile<D>(sV, v, k0, S);
    __syncthreads();  // the tiles are there
    for (int i = 0; i < ROWS; ++i) {
      const int r = warp * ROWS + i, row = q0 + r;
      if (row >= S) break;
      // A hidden key's V may be NaN, and 0 times that too: the products stop at the last key that the row sees.
      const int visible = min(TILE, (causal ? row + 1 : S) - k0);
      if (visible <= 0) continue;
      float s = 0.0f;
      for (int c = 0; c < D; c += 2) {
        const float2 x = load2(&sQ[r][c]), y = load2(&sK[lane][c]);
        s += fmaf(x.x, y.x, x.y * y.y);
      }
      s = lane < visible ? s * scale : -INFINITY;
      const float new_max = fmaxf(row_max[i], warp_max(s));
      const float rescale = __expf(row_max[i] - new_max), p = __expf(s - new_max);
      row_sum[i] = fmaf(row_sum[i], rescale, warp_sum(p));
      row_max[i] = new_max;
      P[r][lane] = p;
      __syncwarp();
      for (int j = 0; j < COLS; ++j) o[i][j] *= rescale;
      for (int n = 0; n < visible; ++n)
        for (int j = 0; j < COLS; ++j) o[i][j] = fmaf(P[r][n], __half2float(sV[n][lane + 32 * j]), o[i][j]);
    }
    __syncthreads();  // all warps are done with the tiles, and with P
  }

  for (int i = 0; i < ROWS; ++i) {
    const int row = q0 + warp * ROWS + i;
    if (row >= S) break;
    for (int j = 0; j < COLS; ++j) out[std::size_t(row) * D + lane + 32 * j] = __float2half(o[i][j] / row_sum[i]);
    if (lane == 0) L[row] = row_max[i] + logf(row_sum[i]);
  }
}

inline cudaError_t save_forward(const AttentionArgs& a, float* L) {
  if (const cudaError_t error = check(a)) return error;
  const auto [B, H, S, D, causal] = a.shape;
  const dim3 tiles(ceil_div(S, FORWARD_TILE), H, B);
  const auto kernel = D == 64 ? forward_pass<64> : forward_pass<128>;
  kernel<<<tiles, FORWARD_WARPS * 32, 0, a.stream>>>(a.q, a.k, a.v, a.out, L, H, S, a.scale, causal);
  return cudaGetLastError();
}

// A workspace's parts, one behind the other, each from 16 bytes on. Laid out from nothing, they tell how much it is.
class Parts {
 public:
  explicit Parts(const void* workspace) : next_(reinterpret_cast<std::uintptr_t>(workspace)) {}
  template <class T>
  T* take(std::size_t count) {
    T* const part = reinterpret_cast<T*>(next_);
    next_ += (count * sizeof(T) + 15) / 16 * 16;
    return part;
  }
  std::size_t end() const { return next_; }

 private:
  std::uintptr_t next_;
};

}  // namespace lab
