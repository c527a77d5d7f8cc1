// B2: P and dP once: five products in place of seven. The block that owns a tile of keys has its dS, so it also
// computes its part of dQ, and adds the part to a sum in global memory. Every block that sees the row adds its own
// part. atomicAdd loses no part, but the order of the parts varies, and in another order an fp32 sum has other last
// bits.
//
//   P = exp(s - L)     dP = dO V^T     dS = scale P (dP - delta)     dQ = dS K     dK = dS^T Q     dV = P^T dO
//
// Before the kernel the sums are zeroed, and L and delta are computed as in b1. After it the sums are rounded to fp16.
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

// --- P and dS of a pair of tiles -------------------------------------------------------------------------
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

// --- all gradients: a block for N keys, which walks the query tiles ---------------------------------------
template <int D>
__global__ void __launch_bounds__(THREADS, BLOCKS_PER_SM)
    gradients(const half* __restrict__ q, const half* __restrict__ k, const half* __restrict__ v,
              const half* __restrict__ dout, const float* __restrict__ L, const float* __restrict__ delta,
              float* __restrict__ dq_sum, half* __restrict__ dk, half* __restrict__ dv, int H, int S, float scale,
              bool causal) {  // dq_sum: [B, H, S, D], zeros before the first block
  constexpr int LD = Tile<D>::LD, COLS = Tile<D>::COLS_PER_LANE;
  __shared__ alignas(16) half sQ[M][LD], sdO[M][LD], sK[N][LD], sV[N][LD];
  __shared__ float P[M][N], dS[M][N];

  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int k0 = blockIdx.x * N;  // first key of this block
  const std::size_t first_row = (std::size_t(blockIdx.z) * H + blockIdx.y) * S, head = first_row * D;
  q += head, k += head, v += head, dout += head, L += first_row, delta += first_row;
  dq_sum += head, dk += head, dv += head;
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
    for (int i = 0; i < ROWS_PER_WARP; ++i) {
      const int r = warp * ROWS_PER_WARP + i;
      if (q0 + r >= S) break;
      float dQ[COLS] = {};  // this block's part of the row
#pragma unroll 4
      for (int n = 0; n < N; ++n) {
        const float ds = dS[r][n];
        for (int j = 0; j < COLS; ++j) dQ[j] = fmaf(ds, __half2float(sK[n][lane + 32 * j]), dQ[j]);
      }
      for (int j = 0; j < COLS; ++j) atomicAdd(&dq_sum[std::size_t(q0 + r) * D + lane + 32 * j], dQ[j]);
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

// --- dQ: the sums, rounded -------------------------------------------------------------------------------
__global__ void __launch_bounds__(THREADS, BLOCKS_PER_SM)
    round_sums(const float* __restrict__ sums, half* __restrict__ dq, std::size_t pairs) {
  const std::size_t i = std::size_t(blockIdx.x) * THREADS + threadIdx.x;
  if (i < pairs) store2(dq + 2 * i, sums[2 * i], sums[2 * i + 1]);
}

// --- launcher --------------------------------------------------------------------------------------------
template <int D>
cudaError_t launch(const BackwardArgs& a) {
  const auto [B, H, S, _, causal] = a.shape;
  const std::size_t pairs = a.shape.elements() / 2;
  float *const L = a.workspace, *const delta = L + a.shape.rows(), *const dq_sum = delta + a.shape.rows();
  const dim3 query_tiles(ceil_div(S, M), H, B), key_tiles(ceil_div(S, N), H, B);
  if (const cudaError_t error = cudaMemsetAsync(dq_sum, 0, 2 * pairs * sizeof(float), a.stream)) return error;
  row_statistics<D><<<query_tiles, THREADS, 0, a.stream>>>(a.q, a.k, a.v, a.dout, L, delta, H, S, a.scale, causal);
  gradients<D>
      <<<key_tiles, THREADS, 0, a.stream>>>(a.q, a.k, a.v, a.dout, L, delta, dq_sum, a.dk, a.dv, H, S, a.scale, causal);
  round_sums<<<unsigned((pairs + THREADS - 1) / THREADS), THREADS, 0, a.stream>>>(dq_sum, a.dq, pairs);
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
  const lab::Shape shape{B, H, S, D, causal != 0};
  return (2 * shape.rows() + shape.elements()) * sizeof(float);  // L, delta, then the sums of dQ
}
