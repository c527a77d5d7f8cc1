// V2c7: every warp computes and copies, and one slot for K and one for V are enough. K's slot is free once the scores
// are computed, so K(j+1) is copied during the softmax and P V(j); V(j+1) is copied after P V(j). Q is loaded into
// fragments once and needs no shared memory of its own. With the memory saved, twice as many blocks fit on an SM.
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
constexpr int WARPS = 4;
constexpr int THREADS = WARPS * 32;
constexpr int STRIPE = 16;         // rows of a WMMA tile
constexpr int M = WARPS * STRIPE;  // query rows per block
constexpr int N = 64;              // keys per tile

template <int D>
struct Tile {
  static constexpr int LD = D + 8;   // padded pitch: eight neighbouring rows start in eight different groups of banks
  static constexpr int LDS = N + 4;  // pitch of the scratch, in floats
  static_assert(LD % 8 == 0, "a 16-byte cp.async needs rows that start on 16 bytes");
};

// --- shared memory ---------------------------------------------------------------------------------------
template <int D>  // WMMA wants its tiles on 32 bytes
struct Smem : Tile<D> {
  using Tile<D>::LD, Tile<D>::LDS;
  alignas(32) half K[N][LD], V[N][LD];
  alignas(32) float scratch[M][LDS];  // each warp's own rows: scores, then weights as halves
  alignas(32) float O[M][LD];
  float row_max[M], row_sum[M];
};

template <int D>
__global__ void __launch_bounds__(THREADS)
    attention(const half* __restrict__ q, const half* __restrict__ k, const half* __restrict__ v,
              half* __restrict__ out, int H, int S, float scale, bool causal) {  // q, k, v, out: [B, H, S, D]
  constexpr int LD = Tile<D>::LD, LDS = Tile<D>::LDS;
  constexpr int ROWS = STRIPE;  // of a warp
  extern __shared__ __align__(32) unsigned char shared[];
  Smem<D>& smem = *reinterpret_cast<Smem<D>*>(shared);

  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int q0 = blockIdx.x * M;  // first query row of this block
  const std::size_t head = (std::size_t(blockIdx.z) * H + blockIdx.y) * S * D;
  q += head, k += head, v += head, out += head;
  const int keys = causal ? min(S, q0 + M) : S;  // no row of this block sees a later key
  const int tiles = ceil_div(keys, N);

  // Queues the copy of tile t of K or V, as one group. Rows from `keys` on, which no query of this block sees, become
  // zeros; of a tile past them nothing is copied.
  const auto issue_tile = [&](half(&to)[N][LD], const half* from, int t) {
    const int first = threadIdx.x / (D / 8), c = threadIdx.x % (D / 8) * 8;
    if (t < tiles)
#pragma unroll
      for (int n = first; n < N; n += THREADS / (D / 8)) {
        const int key = t * N + n;
        __pipeline_memcpy_async(&to[n][c], key < keys ? from + key * D + c : from, 16, key < keys ? 0 : 16);
      }
    __pipeline_commit();  // also when empty: the waits below count groups
  };

  // --- Prologue: the first tiles on their way, Q in fragments, an empty running softmax --------------------
  issue_tile(smem.K, k, 0);
  issue_tile(smem.V, v, 0);
  const int first_row = warp * ROWS;
  half* const rows = reinterpret_cast<half*>(smem.O[first_row]);  // [ROWS][LD]: Q passes through where O will be
  for (int i = lane; i < ROWS * (D / 8); i += 32) {
    const int r = i / (D / 8), c = i % (D / 8) * 8, row = q0 + first_row + r;
    copy8(&rows[r * LD + c], q + std::size_t(row) * D + c, row < S);
  }
  __syncwarp();  // the warp's rows of Q are there
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a[D / 16];
#pragma unroll
  for (int c = 0; c < D; c += 16) wmma::load_matrix_sync(a[c / 16], &rows[c], LD);
  __syncwarp();  // and have been read
  for (int i = 0; i < ROWS; ++i)
    for (int c = lane; c < D; c += 32) smem.O[first_row + i][c] = 0.0f;
  if (lane < ROWS) {
    smem.row_max[first_row + lane] = -FLT_MAX;  // and not -inf: -inf - -inf is NaN
    smem.row_sum[first_row + lane] = 0.0f;
  }

  // --- Mainloop: one K/V tile at a time --------------------------------------------------------------------
  for (int t = 0; t < tiles; ++t) {
    __pipeline_wait_prior(1);             // all but the last group: K(t) has arrived, as far as this thread can see
    __syncthreads();                      // now all can see it
    const auto &K = smem.K, &V = smem.V;  // [N][LD]

    // Scores: a warp multiplies its stripe with 16 keys at a time. A partial stripe is computed whole: its missing rows
    // of Q are zeros, and their results are never stored.
#pragma unroll
    for (int n = 0; n < N; n += 16) {
      wmma::fragment<wmma::accumulator, 16, 16, 16, float> s;
      wmma::fill_fragment(s, 0.0f);
#pragma unroll
      for (int c = 0; c < D; c += 16) {
        wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> b;
        wmma::load_matrix_sync(b, &K[n][c], LD);
        wmma::mma_sync(s, a[c / 16], b, s);
      }
      wmma::store_matrix_sync(&smem.scratch[first_row][n], s, LDS, wmma::mem_row_major);
    }
    __syncthreads();  // all are done with K(t), whose slot may be filled; and the scores are there
    issue_tile(smem.K, k, t + 1);

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
    __pipeline_wait_prior(1);  // V(t) has arrived, as far as this thread can see
    __syncthreads();           // now all can see it; the weights are there, and O is rescaled

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
    __syncthreads();  // all are done with V(t)
    issue_tile(smem.V, v, t + 1);
  }

  // --- Epilogue: normalise, round to fp16, store; each warp its own rows ------------------------------------
  for (int i = 0; i < ROWS; ++i) {
    const int r = first_row + i, row = q0 + r;
    if (row >= S) break;
    const float* const O = smem.O[r];
    for (int c = 2 * lane; c < D; c += 64)
      store2(out + std::size_t(row) * D + c, O[c] / smem.row_sum[r], O[c + 1] / smem.row_sum[r]);
  }
}

// --- launcher --------------------------------------------------------------------------------------------
template <int D>
cudaError_t launch(const AttentionArgs& a) {
  constexpr int BYTES = sizeof(Smem<D>);
  static_assert(BYTES <= 99 * 1024, "what sm_89 gives a block");
  if (const cudaError_t error = cudaFuncSetAttribute(attention<D>, cudaFuncAttributeMaxDynamicSharedMemorySize, BYTES))
    return error;
  const dim3 grid(ceil_div(a.shape.S, M), a.shape.H, a.shape.B);
  attention<D><<<grid, THREADS, BYTES, a.stream>>>(a.q, a.k, a.v, a.out, a.shape.H, a.shape.S, a.scale, a.shape.causal);
  return cudaGetLastError();
}

}  // namespace

cudaError_t attention(const half* q, const half* k, const half* v, half* out, int B, int H, int S, int D, float scale,
                      int causal, void*, cudaStream_t stream) {
  const lab::AttentionArgs args{q, k, v, out, {B, H, S, D, causal != 0}, scale, stream};
  if (const cudaError_t error = check(args)) return error;
  return D == 64 ? launch<64>(args) : launch<128>(args);
}
