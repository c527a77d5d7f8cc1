// V1: fused attention in scalar code. One block computes M query rows of one head. It walks the keys in tiles of N and
// keeps, for every row, the running maximum m, the running sum l and the output O before the division by l (an online
// softmax). Nothing of size S x S is ever stored.
//
//   for each K/V tile:  m' = max(m, rowmax(s));  a = exp(m - m');  l = l a + sum(p);  O = O a + p V;  finally O / l
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cfloat>

#include "common/attention.hpp"
#include "common/tile.cuh"
#include "common/warp.cuh"

namespace {
using namespace lab;

// --- tile constants --------------------------------------------------------------------------------------
constexpr int WARPS = 8;
constexpr int THREADS = WARPS * 32;

template <int D>
struct Tile {                                  // its arrays fit the 48 KiB at which static shared memory ends
  static constexpr int M = D == 64 ? 48 : 32;  // query rows per block
  static constexpr int N = D == 64 ? 64 : 32;  // keys per tile
};

template <int D>
__global__ void __launch_bounds__(THREADS, 4)
    attention(const half* __restrict__ q, const half* __restrict__ k, const half* __restrict__ v,
              half* __restrict__ out, int H, int S, float scale, bool causal) {  // q, k, v, out: [B, H, S, D]
  constexpr int M = Tile<D>::M, N = Tile<D>::N;
  constexpr int ROWS = M / WARPS;  // of a warp
  constexpr int COLS = D / 32;     // of a lane: lane, lane + 32, ...
  constexpr int LD = D + 8;        // padded pitch: neighbouring rows start in other banks
  __shared__ alignas(16) half sQ[M][LD], sK[N][LD], sV[N][LD];
  __shared__ alignas(16) half sO[M][LD];  // finished rows wait here for 16-byte stores
  __shared__ float scores[M][N];          // then weights
  __shared__ float row_max[M], row_sum[M];

  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int q0 = blockIdx.x * M;  // first query row of this block
  const std::size_t head = (std::size_t(blockIdx.z) * H + blockIdx.y) * S * D;
  q += head, k += head, v += head, out += head;
  const int keys = causal ? min(S, q0 + M) : S;  // no row of this block sees a later key

  // --- Prologue: the Q tile, an empty running softmax ------------------------------------------------------
  for (int i = threadIdx.x; i < M * (D / 8); i += THREADS) {
    const int r = i / (D / 8), c = i % (D / 8) * 8;
    copy8(&sQ[r][c], q + std::size_t(q0 + r) * D + c, q0 + r < S);
  }
  if (threadIdx.x < M) {
    row_max[threadIdx.x] = -FLT_MAX;  // and not -inf: -inf - -inf is NaN
    row_sum[threadIdx.x] = 0.0f;
  }
  float O[ROWS][COLS] = {};

  // --- Mainloop: one K/V tile at a time --------------------------------------------------------------------
  const int first_row = warp * ROWS;
  for (int k0 = 0; k0 < keys; k0 += N) {
    for (int i = threadIdx.x; i < N * (D / 8); i += THREADS) {
      const int n = i / (D / 8), c = i % (D / 8) * 8, key = k0 + n;
      copy8(&sK[n][c], k + std::size_t(key) * D + c, key < S);
      copy8(&sV[n][c], v + std::size_t(key) * D + c, key < S);
    }
    __syncthreads();  // the tile is there

#pragma unroll
    for (int i = 0; i < ROWS; ++i) {
      const int r = first_row + i, row = q0 + r;
      if (row >= S) break;  // the same for all lanes of the warp

      // Scores: a lane computes whole dot products, for keys lane, lane + 32, ...
      float tile_max = -INFINITY;
      for (int n = lane; n < N; n += 32) {
        float s = 0.0f;
#pragma unroll 8
        for (int c = 0; c < D; c += 2) {
          const float2 a = load2(&sQ[r][c]), b = load2(&sK[n][c]);
          s += fmaf(a.x, b.x, a.y * b.y);
        }
        const int key = k0 + n;
        const bool visible = key < S && (!causal || key <= row);
        s = visible ? s * scale : -INFINITY;
        scores[r][n] = s;
        tile_max = fmaxf(tile_max, s);
      }

      // Online softmax: the row's new maximum, and what it does to everything summed so far.
      const float old_max = row_max[r];
      const float new_max = fmaxf(old_max, warp_max(tile_max));
      float p_sum = 0.0f;
      for (int n = lane; n < N; n += 32) {
        const float p = __expf(scores[r][n] - new_max);
        scores[r][n] = p;
        p_sum += p;
      }
      p_sum = warp_sum(p_sum);
      const float rescale = __expf(old_max - new_max);
      __syncwarp();  // the weights are written by all lanes and read by all; row_max[r] has been read by all
      if (lane == 0) {
        row_max[r] = new_max;
        row_sum[r] = fmaf(row_sum[r], rescale, p_sum);
      }

      // P V: a lane owns output columns.
      for (int j = 0; j < COLS; ++j) O[i][j] *= rescale;
#pragma unroll 4
      for (int n = 0; n < N; ++n) {
        const float p = scores[r][n];
        for (int j = 0; j < COLS; ++j) O[i][j] = fmaf(p, __half2float(sV[n][lane + 32 * j]), O[i][j]);
      }
    }
    __syncthreads();  // all warps are done with the tile
  }

  // --- Epilogue: normalise, round to fp16, store 16 bytes at a time ----------------------------------------
#pragma unroll
  for (int i = 0; i < ROWS; ++i) {
    const int r = first_row + i;
    for (int j = 0; j < COLS; ++j) sO[r][lane + 32 * j] = __float2half(O[i][j] / row_sum[r]);
  }
  __syncthreads();
  for (int i = threadIdx.x; i < M * (D / 8); i += THREADS) {
    const int r = i / (D / 8), c = i % (D / 8) * 8;
    if (q0 + r < S) copy8(out + std::size_t(q0 + r) * D + c, &sO[r][c], true);
  }
}

// --- launcher --------------------------------------------------------------------------------------------
template <int D>
cudaError_t launch(const AttentionArgs& a) {
  const dim3 grid(ceil_div(a.shape.S, Tile<D>::M), a.shape.H, a.shape.B);
  attention<D><<<grid, THREADS, 0, a.stream>>>(a.q, a.k, a.v, a.out, a.shape.H, a.shape.S, a.scale, a.shape.causal);
  return cudaGetLastError();
}

}  // namespace

cudaError_t attention(const half* q, const half* k, const half* v, half* out, int B, int H, int S, int D, float scale,
                      int causal, void*, cudaStream_t stream) {
  const lab::AttentionArgs args{q, k, v, out, {B, H, S, D, causal != 0}, scale, stream};
  if (const cudaError_t error = check(args)) return error;
  return D == 64 ? launch<64>(args) : launch<128>(args);
}
