// V2c3: the scores of a tile go through shared memory. A lane computes a whole dot product and stores the score in
// smem.scores; softmax and P V read it from there. So a row and tile take two warp reductions, where V2b needs one for
// every score. The tensor cores will write to the same buffer in V2c5.
//
//   for each K/V tile:  m' = max(m, rowmax(s));  a = exp(m - m');  l = l a + sum(p);  O = O a + p V;  finally O / l
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
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
constexpr int PRODUCER = 7;  // the warp that issues the copies

template <int D>
struct Tile {
  static constexpr int M = D == 64 ? 64 : 48;  // query rows per block
  static constexpr int N = D == 64 ? 64 : 32;  // keys per tile
  static constexpr int LD = D + 8;  // padded pitch: eight neighbouring rows start in eight different groups of banks
  static_assert(M % WARPS == 0, "every warp owns the same number of rows");
  static_assert(LD % 8 == 0, "a 16-byte cp.async needs rows that start on 16 bytes");
};

// --- shared memory ---------------------------------------------------------------------------------------
template <int D, int SLOTS>
struct Smem : Tile<D> {
  using Tile<D>::M, Tile<D>::N, Tile<D>::LD;
  alignas(16) half Q[M][LD];
  alignas(16) half K[SLOTS][N][LD];
  alignas(16) half V[SLOTS][N][LD];
  float scores[M][N];  // then weights
  float O[M][LD];
  float row_max[M], row_sum[M];
};

template <int D, int SLOTS>
__global__ void __launch_bounds__(THREADS)
    attention(const half* __restrict__ q, const half* __restrict__ k, const half* __restrict__ v,
              half* __restrict__ out, int H, int S, float scale, bool causal) {  // q, k, v, out: [B, H, S, D]
  constexpr int M = Tile<D>::M, N = Tile<D>::N, LD = Tile<D>::LD;
  constexpr int ROWS = M / WARPS;  // of a warp
  extern __shared__ __align__(16) unsigned char shared[];
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
  for (int t = 0; t < tiles; ++t) {
    if (warp == PRODUCER) __pipeline_wait_prior(SLOTS - 2);  // each lane's own copies of tile t have arrived
    __syncthreads();  // now all can see it; and all are done with tile t - 1, whose slot is next to be filled
    if (warp == PRODUCER) {
      if (t + SLOTS - 1 < tiles) issue_tile(t + SLOTS - 1);
      __pipeline_commit();
    }
    const auto &K = smem.K[t % SLOTS], &V = smem.V[t % SLOTS];  // [N][LD]

    // Scores: a lane computes whole dot products, for keys lane, lane + 32, ...
    for (int i = 0; i < ROWS; ++i) {
      const int r = first_row + i, row = q0 + r;
      if (row >= S) break;  // the same for all lanes of the warp
      for (int n = lane; n < N; n += 32) {
        float s = 0.0f;
#pragma unroll 8
        for (int c = 0; c < D; c += 2) {
          const float2 a = load2(&smem.Q[r][c]), b = load2(&K[n][c]);
          s += fmaf(a.x, b.x, a.y * b.y);
        }
        smem.scores[r][n] = s;
      }
    }
    __syncthreads();  // the scores are there

    for (int i = 0; i < ROWS; ++i) {
      const int r = first_row + i, row = q0 + r;
      if (row >= S) break;  // the same for all lanes of the warp
      float *const scores = smem.scores[r], *const O = smem.O[r];

      // Online softmax: the row's new maximum, and what it does to everything summed so far.
      float tile_max = -INFINITY;
      for (int n = lane; n < N; n += 32) {
        const int key = t * N + n;
        const bool visible = key < S && (!causal || key <= row);
        scores[n] = visible ? scores[n] * scale : -INFINITY;
        tile_max = fmaxf(tile_max, scores[n]);
      }
      const float old_max = smem.row_max[r];
      const float new_max = fmaxf(old_max, warp_max(tile_max));
      float p_sum = 0.0f;
      for (int n = lane; n < N; n += 32) {
        const float p = __expf(scores[n] - new_max);
        scores[n] = p;
        p_sum += p;
      }
      p_sum = warp_sum(p_sum);
      const float rescale = __expf(old_max - new_max);
      __syncwarp();  // the weights are written by all lanes and read by all; row_max[r] has been read by all
      if (lane == 0) {
        smem.row_max[r] = new_max;
        smem.row_sum[r] = fmaf(smem.row_sum[r], rescale, p_sum);
      }

      // P V: a lane owns output columns 2 lane, 2 lane + 1, then those + 64.
      float2 o[D / 64];
      for (int j = 0; j < D / 64; ++j) {
        const float* pair = &O[64 * j + 2 * lane];
        o[j] = make_float2(pair[0] * rescale, pair[1] * rescale);
      }
#pragma unroll 16
      for (int n = 0; n < N; ++n) {
        const float p = scores[n];
        for (int j = 0; j < D / 64; ++j) {
          const float2 b = load2(&V[n][64 * j + 2 * lane]);
          o[j].x = fmaf(p, b.x, o[j].x), o[j].y = fmaf(p, b.y, o[j].y);
        }
      }
      for (int j = 0; j < D / 64; ++j) O[64 * j + 2 * lane] = o[j].x, O[64 * j + 2 * lane + 1] = o[j].y;
    }
  }

  // --- Epilogue: normalise, round to fp16, store; each warp its own rows ------------------------------------
  __syncwarp();
  for (int i = 0; i < ROWS; ++i) {
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
  constexpr int BYTES = sizeof(Smem<D, SLOTS>);
  static_assert(BYTES <= 99 * 1024, "what sm_89 gives a block");
  if (const cudaError_t error =
          cudaFuncSetAttribute(attention<D, SLOTS>, cudaFuncAttributeMaxDynamicSharedMemorySize, BYTES))
    return error;
  const dim3 grid(ceil_div(a.shape.S, Tile<D>::M), a.shape.H, a.shape.B);
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
