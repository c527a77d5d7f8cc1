// B1: the backward pass in scalar code. P and dP of a tile are computed again wherever they are needed, so nothing of
// size S x S is stored. Each gradient belongs to one block, so no two blocks add to one sum.
//
//   P = exp(s - L)     dP = dO V^T     dS = scale P (dP - delta)     dQ = dS K     dK = dS^T Q     dV = P^T dO
//
// dQ of a row needs all keys; dK and dV of a key need all rows. Hence two kernels: one walks the keys, one walks the
// rows. Both need each row's L = log sum exp(s) and delta = sum_j P_ij dP_ij. A kernel before them computes L and
// delta.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cfloat>

#include "common/attention_backward.hpp"
#include "common/tile.cuh"
#include "common/warp.cuh"

namespace {
using namespace lab;

// --- tile constants --------------------------------------------------------------------------------------
constexpr int WARPS = 8;
constexpr int THREADS = WARPS * 32;
constexpr int BLOCKS_PER_SM = 3;  // leaves 80 registers for a thread: more blocks, and ptxas spills
constexpr int M = 32;             // query rows per tile
constexpr int N = 32;             // keys per tile: one for each lane
constexpr int ROWS_PER_WARP = M / WARPS;
constexpr int KEYS_PER_WARP = N / WARPS;

template <int D>
struct Tile {
  static constexpr int LD = D + 8;              // padded pitch: neighbouring rows start in other banks
  static constexpr int COLS_PER_LANE = D / 32;  // a lane owns columns lane, lane + 32, ...
};

// rows r0 .. r0 + 31 of a [S][D] tensor, zeros past its end
template <int D>
__device__ void load_tile(half (&tile)[32][Tile<D>::LD], const half* tensor, int r0, int S) {
  for (int i = threadIdx.x; i < 32 * (D / 8); i += THREADS) {
    const int r = i / (D / 8), c = i % (D / 8) * 8;
    copy8(&tile[r][c], tensor + std::size_t(r0 + r) * D + c, r0 + r < S);
  }
}

template <int D>
__device__ float dot(const half* a, const half* b) {
  float sum = 0.0f;
#pragma unroll 8
  for (int c = 0; c < D; c += 2) {
    const float2 x = load2(a + c), y = load2(b + c);
    sum += fmaf(x.x, y.x, x.y * y.y);
  }
  return sum;
}

// Whether query `row` sees `key`; false for what lies past the tensor.
__device__ bool is_visible(int row, int key, int S, bool causal) {
  return row < S && key < S && (!causal || key <= row);
}

// --- L and delta of each query row -----------------------------------------------------------------------
// An online softmax, as in v1. O is not needed: delta = dO·O is the mean of dP that P weighs, one number for each key.
template <int D>
__global__ void __launch_bounds__(THREADS, BLOCKS_PER_SM)
    row_statistics(const half* __restrict__ q, const half* __restrict__ k, const half* __restrict__ v,
                   const half* __restrict__ dout, float* __restrict__ L, float* __restrict__ delta, int H, int S,
                   float scale, bool causal) {  // q, k, v, dout: [B, H, S, D]; L, delta: [B, H, S]
  constexpr int LD = Tile<D>::LD;
  __shared__ alignas(16) half sQ[M][LD], sdO[M][LD], sK[N][LD], sV[N][LD];

  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int q0 = blockIdx.x * M;  // first query row of this block
  const std::size_t first_row = (std::size_t(blockIdx.z) * H + blockIdx.y) * S, head = first_row * D;
  q += head, k += head, v += head, dout += head, L += first_row, delta += first_row;
  const int keys = causal ? min(S, q0 + M) : S;  // no row of this block sees a later key

  load_tile<D>(sQ, q, q0, S);
  load_tile<D>(sdO, dout, q0, S);
  float row_max[ROWS_PER_WARP], row_sum[ROWS_PER_WARP] = {}, dP_sum[ROWS_PER_WARP] = {};
  for (int i = 0; i < ROWS_PER_WARP; ++i) row_max[i] = -FLT_MAX;  // and not -inf: -inf - -inf is NaN

  for (int k0 = 0; k0 < keys; k0 += N) {
    load_tile<D>(sK, k, k0, S);
    load_tile<D>(sV, v, k0, S);
    __syncthreads();  // the tiles are there
    for (int i = 0; i < ROWS_PER_WARP; ++i) {
      const int r = warp * ROWS_PER_WARP + i;
      const bool visible = is_visible(q0 + r, k0 + lane, S, causal);
      const float s = visible ? dot<D>(sQ[r], sK[lane]) * scale : -INFINITY;
      const float dP = visible ? dot<D>(sdO[r], sV[lane]) : 0.0f;
      const float new_max = fmaxf(row_max[i], warp_max(s));
      const float rescale = __expf(row_max[i] - new_max), p = __expf(s - new_max);
      row_sum[i] = fmaf(row_sum[i], rescale, warp_sum(p));
      dP_sum[i] = fmaf(dP_sum[i], rescale, warp_sum(p * dP));
      row_max[i] = new_max;
    }
    __syncthreads();  // all warps are done with the tiles
  }

  for (int i = 0; i < ROWS_PER_WARP; ++i) {
    const int row = q0 + warp * ROWS_PER_WARP + i;
    if (lane == 0 && row < S) {
      L[row] = row_max[i] + logf(row_sum[i]);
      delta[row] = dP_sum[i] / row_sum[i];
    }
  }
}

// --- what both gradients' kernels do with a pair of tiles ------------------------------------------------
// A lane computes P and dS of its key for each row of its warp. Pairs that the mask hides, and those past the end, are 0:
// by a selection, for 0 times a NaN is NaN.
template <int D>
__device__ void score_tile(const half (&sQ)[M][Tile<D>::LD], const half (&sdO)[M][Tile<D>::LD],
                           const half (&sK)[N][Tile<D>::LD], const half (&sV)[N][Tile<D>::LD], const float* L,
                           const float* delta, int q0, int k0, int S, float scale, bool causal, float (*P)[N],
                           float (*dS)[N]) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (int i = 0; i < ROWS_PER_WARP; ++i) {
    const int r = warp * ROWS_PER_WARP + i, row = q0 + r;
    float p = 0.0f, ds = 0.0f;
    if (is_visible(row, k0 + lane, S, causal)) {
      p = __expf(dot<D>(sQ[r], sK[lane]) * scale - L[row]);
      ds = p * (dot<D>(sdO[r], sV[lane]) - delta[row]) * scale;
    }
    if (P) P[r][lane] = p;
    dS[r][lane] = ds;
  }
}

// --- dK and dV: a block for N keys, which walks the query tiles ------------------------------------------
template <int D>
__global__ void __launch_bounds__(THREADS, BLOCKS_PER_SM)
    key_gradients(const half* __restrict__ q, const half* __restrict__ k, const half* __restrict__ v,
                  const half* __restrict__ dout, const float* __restrict__ L, const float* __restrict__ delta,
                  half* __restrict__ dk, half* __restrict__ dv, int H, int S, float scale, bool causal) {
  constexpr int LD = Tile<D>::LD, COLS = Tile<D>::COLS_PER_LANE;
  __shared__ alignas(16) half sQ[M][LD], sdO[M][LD], sK[N][LD], sV[N][LD];
  __shared__ float P[M][N], dS[M][N];

  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int k0 = blockIdx.x * N;  // first key of this block
  const std::size_t first_row = (std::size_t(blockIdx.z) * H + blockIdx.y) * S, head = first_row * D;
  q += head, k += head, v += head, dout += head, L += first_row, delta += first_row, dk += head, dv += head;
  const int first_query = causal ? k0 / M * M : 0;  // no earlier row sees a key of this block

  load_tile<D>(sK, k, k0, S);
  load_tile<D>(sV, v, k0, S);
  float dK[KEYS_PER_WARP][COLS] = {}, dV[KEYS_PER_WARP][COLS] = {};

  for (int q0 = first_query; q0 < S; q0 += M) {
    load_tile<D>(sQ, q, q0, S);
    load_tile<D>(sdO, dout, q0, S);
    __syncthreads();  // the tiles are there
    score_tile<D>(sQ, sdO, sK, sV, L, delta, q0, k0, S, scale, causal, P, dS);
    __syncthreads();  // P and dS are there: they were written by row, and are read by key
    for (int i = 0; i < KEYS_PER_WARP; ++i) {
      const int n = warp * KEYS_PER_WARP + i;
#pragma unroll 4
      for (int r = 0; r < M; ++r) {
        const float p = P[r][n], ds = dS[r][n];
        for (int j = 0; j < COLS; ++j) {
          dV[i][j] = fmaf(p, __half2float(sdO[r][lane + 32 * j]), dV[i][j]);
          dK[i][j] = fmaf(ds, __half2float(sQ[r][lane + 32 * j]), dK[i][j]);
        }
      }
    }
    __syncthreads();  // all warps are done with the tiles, and with P and dS
  }

  for (int i = 0; i < KEYS_PER_WARP; ++i) {
    const int key = k0 + warp * KEYS_PER_WARP + i;
    if (key >= S) break;
    for (int j = 0; j < COLS; ++j) {
      dk[std::size_t(key) * D + lane + 32 * j] = __float2half(dK[i][j]);
      dv[std::size_t(key) * D + lane + 32 * j] = __float2half(dV[i][j]);
    }
  }
}

// --- dQ: a block for M query rows, which walks the key tiles ---------------------------------------------
template <int D>
__global__ void __launch_bounds__(THREADS, BLOCKS_PER_SM)
    query_gradients(const half* __restrict__ q, const half* __restrict__ k, const half* __restrict__ v,
                    const half* __restrict__ dout, const float* __restrict__ L, const float* __restrict__ delta,
                    half* __restrict__ dq, int H, int S, float scale, bool causal) {
  constexpr int LD = Tile<D>::LD, COLS = Tile<D>::COLS_PER_LANE;
  __shared__ alignas(16) half sQ[M][LD], sdO[M][LD], sK[N][LD], sV[N][LD];
  __shared__ float dS[M][N];

  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int q0 = blockIdx.x * M;  // first query row of this block
  const std::size_t first_row = (std::size_t(blockIdx.z) * H + blockIdx.y) * S, head = first_row * D;
  q += head, k += head, v += head, dout += head, L += first_row, delta += first_row, dq += head;
  const int keys = causal ? min(S, q0 + M) : S;  // no row of this block sees a later key

  load_tile<D>(sQ, q, q0, S);
  load_tile<D>(sdO, dout, q0, S);
  float dQ[ROWS_PER_WARP][COLS] = {};

  for (int k0 = 0; k0 < keys; k0 += N) {
    load_tile<D>(sK, k, k0, S);
    load_tile<D>(sV, v, k0, S);
    __syncthreads();  // the tiles are there
    score_tile<D>(sQ, sdO, sK, sV, L, delta, q0, k0, S, scale, causal, nullptr, dS);
    __syncwarp();  // a row of dS is written and read by one warp
    for (int i = 0; i < ROWS_PER_WARP; ++i) {
      const int r = warp * ROWS_PER_WARP + i;
#pragma unroll 4
      for (int n = 0; n < N; ++n) {
        const float ds = dS[r][n];
        for (int j = 0; j < COLS; ++j) dQ[i][j] = fmaf(ds, __half2float(sK[n][lane + 32 * j]), dQ[i][j]);
      }
    }
    __syncthreads();  // all warps are done with the tiles
  }

  for (int i = 0; i < ROWS_PER_WARP; ++i) {
    const int row = q0 + warp * ROWS_PER_WARP + i;
    if (row >= S) break;
    for (int j = 0; j < COLS; ++j) dq[std::size_t(row) * D + lane + 32 * j] = __float2half(dQ[i][j]);
  }
}

// --- launcher --------------------------------------------------------------------------------------------
template <int D>
cudaError_t launch(const BackwardArgs& a) {
  const auto [B, H, S, _, causal] = a.shape;
  float *const L = a.workspace, *const delta = L + a.shape.rows();
  const dim3 query_tiles(ceil_div(S, M), H, B), key_tiles(ceil_div(S, N), H, B);
  row_statistics<D><<<query_tiles, THREADS, 0, a.stream>>>(a.q, a.k, a.v, a.dout, L, delta, H, S, a.scale, causal);
  key_gradients<D>
      <<<key_tiles, THREADS, 0, a.stream>>>(a.q, a.k, a.v, a.dout, L, delta, a.dk, a.dv, H, S, a.scale, causal);
  query_gradients<D>
      <<<query_tiles, THREADS, 0, a.stream>>>(a.q, a.k, a.v, a.dout, L, delta, a.dq, H, S, a.scale, causal);
  return cudaGetLastError();
}

}  // namespace

cudaError_t attention_backward(const half* q, const half* k, const half* v, const half* dout, half* dq, half* dk,
                               half* dv, int B, int H, int S, int D, float scale, int causal, void* workspace,
                               cudaStream_t stream) {
  const lab::BackwardArgs args{
      q, k, v, dout, dq, dk, dv, static_cast<float*>(workspace), {B, H, S, D, causal != 0}, scale, stream};
  if (const cudaError_t error = check(args)) return error;
  return D == 64 ? launch<64>(args) : launch<128>(args);
}

std::size_t attention_backward_workspace(int B, int H, int S, int D, int causal) {
  return 2 * lab::Shape{B, H, S, D, causal != 0}.rows() * sizeof(float);  // L, then delta
}
