// V2c6: P V on the tensor cores, too. WMMA documents no fragment layout, so scores, weights and O pass between
// fragments and lanes through shared memory: store the scores to the warp's own scratch, compute the softmax row by
// row, store the weights as halves, load them as matrix_a. The block-wide scores are gone.
//
//   for each K/V tile:  m' = max(m, rowmax(s));  a = exp(m - m');  l = l a + sum(p);  O = O a + p V;  finally O / l
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>
#include <mma.h>

#include <cfloat>

#include "common/attention.hpp"
#include "common/tile.cuh"
#include "common/warp.cuh"

namespace {
using namespace lab;
namespace wmma = nvcuda::wmma;

// --- tile constants --------------------------------------------------------------------------------------
constexpr int WARPS = 8;
constexpr int THREADS = WARPS * 32;
constexpr int PRODUCER = 7;  // the warp that issues the copies
constexpr int STRIPE = 16;   // rows of a WMMA tile

template <int D>
struct Tile {
  static constexpr int M = D == 64 ? 64 : 48;  // query rows per block
  static constexpr int N = D == 64 ? 64 : 32;  // keys per tile
  static constexpr int LD = D + 8;   // padded pitch: eight neighbouring rows start in eight different groups of banks
  static constexpr int LDS = N + 4;  // pitch of the scratch, in floats
  static_assert(M % STRIPE == 0 && M / STRIPE <= WARPS, "whole stripes");
  static_assert(LD % 8 == 0, "a 16-byte cp.async needs rows that start on 16 bytes");
};

// --- shared memory ---------------------------------------------------------------------------------------
template <int D, int SLOTS>  // WMMA wants its tiles on 32 bytes
struct Smem : Tile<D> {
  using Tile<D>::M, Tile<D>::N, Tile<D>::LD, Tile<D>::LDS;
  alignas(32) half Q[M][LD], K[SLOTS][N][LD], V[SLOTS][N][LD];
  alignas(32) float scratch[M][LDS];  // each warp's own rows: scores, then weights as halves
  alignas(32) float O[M][LD];
  float row_max[M], row_sum[M];
};

template <int D, int SLOTS>
__global__ void __launch_bounds__(THREADS)
    attention(const half* __restrict__ q, const half* __restrict__ k, const half* __restrict__ v,
              half* __restrict__ out, int H, int S, float scale, bool causal) {  // q, k, v, out: [B, H, S, D]
  constexpr int M = Tile<D>::M, N = Tile<D>::N, LD = Tile<D>::LD, LDS = Tile<D>::LDS;
  constexpr int ROWS = STRIPE;  // of a warp
  extern __shared__ __align__(32) unsigned char shared[];
  Smem<D, SLOTS>& smem = *reinterpret_cast<Smem<D, SLOTS>*>(shared);

  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int q0 = blockIdx.x * M;  // first query row of this block
  const std::size_t head = (std::size_t(blockIdx.z) * H + blockIdx.y) * S * D;
  q += head, k += head, v += head, out += head;
  const int keys = causal ? min(S, q0 + M) : S;  // no row of this block sees a later key
  const int tiles = ceil_div(keys, N);

  // Queues the copy of tile t of K and V into its slot; rows past S become zeros. One warp.
  const auto issue_tile = [&](int t) {
    for (int i = lane; i < N * (D / 8); i += 32) {
      const int n = i / (D / 8), c = i % (D / 8) * 8, key = t * N + n;
      const std::size_t from = key < S ? std::size_t(key) * D + c : 0;
      __pipeline_memcpy_async(&smem.K[t % SLOTS][n][c], k + from, 16, key < S ? 0 : 16);
      __pipeline_memcpy_async(&smem.V[t % SLOTS][n][c], v + from, 16, key < S ? 0 : 16);
    }
  };

  // --- Prologue: the first tiles on their way, the Q tile, an empty running softmax ------------------------
  if (warp == PRODUCER)
    for (int t = 0; t < SLOTS - 1; ++t) {
      if (t < tiles) issue_tile(t);
      __pipeline_commit();  // also when empty: the wait below counts groups
    }
  for (int i = threadIdx.x; i < M * (D / 8); i += THREADS) {
    const int r = i / (D / 8), c = i % (D / 8) * 8;
    copy8(&smem.Q[r][c], q + std::size_t(q0 + r) * D + c, q0 + r < S);
  }
  for (int i = threadIdx.x; i < M * LD; i += THREADS) smem.O[i / LD][i % LD] = 0.0f;
  if (threadIdx.x < M) {
    smem.row_max[threadIdx.x] = -FLT_MAX;  // and not -inf: -inf - -inf is NaN
    smem.row_sum[threadIdx.x] = 0.0f;
  }

  // --- Mainloop: one K/V tile at a time --------------------------------------------------------------------
  const int first_row = warp * ROWS;
  const bool computes = first_row < M && q0 + first_row < S;  // the other warps load or wait
  for (int t = 0; t < tiles; ++t) {
    if (warp == PRODUCER) __pipeline_wait_prior(SLOTS - 2);  // each lane's own copies of tile t have arrived
    __syncthreads();  // now all can see it; and all are done with tile t - 1, whose slot is next to be filled
    if (warp == PRODUCER) {
      if (t + SLOTS - 1 < tiles) issue_tile(t + SLOTS - 1);
      __pipeline_commit();
    }
    const auto &K = smem.K[t % SLOTS], &V = smem.V[t % SLOTS];  // [N][LD]

    // Scores: a warp multiplies its stripe with 16 keys at a time. A partial stripe is computed whole: its missing rows
    // of Q are zeros, and their results are never stored.
    if (!computes) continue;
    for (int n = 0; n < N; n += 16) {
      wmma::fragment<wmma::accumulator, 16, 16, 16, float> s;
      wmma::fill_fragment(s, 0.0f);
      for (int c = 0; c < D; c += 16) {
        wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
        wmma::load_matrix_sync(a, &smem.Q[first_row][c], LD);
        wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> b;
        wmma::load_matrix_sync(b, &K[n][c], LD);
        wmma::mma_sync(s, a, b, s);
      }
      wmma::store_matrix_sync(&smem.scratch[first_row][n], s, LDS, wmma::mem_row_major);
    }
    __syncwarp();  // the scores are there; no other warp reads them

    for (int i = 0; i < ROWS; ++i) {
      const int r = first_row + i, row = q0 + r;
      float *const scores = smem.scratch[r], *const O = smem.O[r];
      half* const weights = reinterpret_cast<half*>(scores);  // take the place of the row's scores

      // Online softmax: the row's new maximum, and what it does to everything summed so far.
      float tile_max = -INFINITY;
      float s[N / 32];  // lane's keys: lane, lane + 32, ...
      for (int j = 0; j < N / 32; ++j) {
        const int key = t * N + 32 * j + lane;
        const bool visible = key < S && (!causal || key <= row);
        s[j] = visible ? scores[32 * j + lane] * scale : -INFINITY;
        tile_max = fmaxf(tile_max, s[j]);
      }
      const float old_max = smem.row_max[r];
      const float new_max = fmaxf(old_max, warp_max(tile_max));
      float p_sum = 0.0f;
      __syncwarp();  // the row's scores and row_max[r] have been read by all
      for (int j = 0; j < N / 32; ++j) {
        const float p = __expf(s[j] - new_max);
        weights[32 * j + lane] = __float2half(p);
        p_sum += p;
      }
      p_sum = warp_sum(p_sum);
      const float rescale = __expf(old_max - new_max);
      if (lane == 0) {
        smem.row_max[r] = new_max;
        smem.row_sum[r] = fmaf(smem.row_sum[r], rescale, p_sum);
      }
      for (int c = lane; c < D; c += 32) O[c] *= rescale;
    }
    __syncwarp();  // the weights are there, and O is rescaled

    // P V: 16 output columns at a time.
    const half* const weights = reinterpret_cast<const half*>(smem.scratch[first_row]);  // [ROWS][2 LDS]
#pragma unroll
    for (int c = 0; c < D; c += 16) {
      wmma::fragment<wmma::accumulator, 16, 16, 16, float> o;
      wmma::load_matrix_sync(o, &smem.O[first_row][c], LD, wmma::mem_row_major);
#pragma unroll
      for (int n = 0; n < N; n += 16) {
        wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> p;
        wmma::load_matrix_sync(p, weights + n, 2 * LDS);
        wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> b;
        wmma::load_matrix_sync(b, &V[n][c], LD);
        wmma::mma_sync(o, p, b, o);
      }
      wmma::store_matrix_sync(&smem.O[first_row][c], o, LD, wmma::mem_row_major);
    }
  }

  // --- Epilogue: normalise, round to fp16, store; each warp its own rows ------------------------------------
  __syncwarp();
  for (int i = 0; i < ROWS && computes; ++i) {
    const int r = first_row + i, row = q0 + r;
    if (row >= S) break;
    const float* const O = smem.O[r];
    for (int c = 2 * lane; c < D; c += 64)
      store2(out + std::size_t(row) * D + c, O[c] / smem.row_sum[r], O[c + 1] / smem.row_sum[r]);
  }
}

// --- launcher --------------------------------------------------------------------------------------------
template <int D, int SLOTS>
cudaError_t launch(const AttentionArgs& a) {
  constexpr int M = Tile<D>::M, BYTES = sizeof(Smem<D, SLOTS>);
  static_assert(BYTES <= 99 * 1024, "what sm_89 gives a block");
  if (const cudaError_t error =
          cudaFuncSetAttribute(attention<D, SLOTS>, cudaFuncAttributeMaxDynamicSharedMemorySize, BYTES))
    return error;
  const dim3 grid(ceil_div(a.shape.S, M), a.shape.H, a.shape.B);
  attention<D, SLOTS>
      <<<grid, THREADS, BYTES, a.stream>>>(a.q, a.k, a.v, a.out, a.shape.H, a.shape.S, a.scale, a.shape.causal);
  return cudaGetLastError();
}

}  // namespace

cudaError_t attention(const half* q, const half* k, const half* v, half* out, int B, int H, int S, int D, float scale,
                      int causal, void*, cudaStream_t stream) {
  const lab::AttentionArgs args{q, k, v, out, {B, H, S, D, causal != 0}, scale, stream};
  if (const cudaError_t error = check(args)) return error;
  if (S < 1024) return D == 64 ? launch<64, 2>(args) : launch<128, 2>(args);  // short: there is little to run ahead of
  return D == 64 ? launch<64, 3>(args) : launch<128, 3>(args);
}
