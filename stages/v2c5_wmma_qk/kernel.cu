// V2c5: Q K^T on the tensor cores. A warp owns a stripe of 16 query rows, multiplies it with 16 keys at a time by WMMA,
// and stores the scores where V2c3's lanes stored theirs. K is not transposed: read as a column-major matrix with the
// padded pitch as ldm, the tile [N][D] is K^T. Softmax and P V are V2c3's.
//
//   for each K/V tile:  m' = max(m, rowmax(s));  a = exp(m - m');  l = l a + sum(p);  O = O a + p V;  finally O / l
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>
#include <mma.h>

#include "common/attention_launch.cuh"
#include "common/smem_plan.cuh"
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

template <int D_, int SLOTS_>
struct Tile {
  static constexpr int D = D_, SLOTS = SLOTS_;
  static constexpr int M = D == 64 ? 64 : 48;  // query rows per block
  static constexpr int N = D == 64 ? 64 : 32;  // keys per tile
  static constexpr int ROWS_PER_WARP = STRIPE;
  static constexpr int LD = D + 8;      // padded pitch: neighbouring rows start in other banks
  static constexpr int PAIRS = D / 64;  // a lane owns columns 2 lane, 2 lane + 1, then those + 64
  static_assert(M % STRIPE == 0 && M / STRIPE <= WARPS, "whole stripes");
  static_assert(LD % 8 == 0, "a 16-byte cp.async needs rows that start on 16 bytes");
};

// --- shared-memory plan ----------------------------------------------------------------------------------
struct Smem {
  half *sQ, *sK, *sV;         // [M][LD], [SLOTS * N][LD] twice
  float *S_scores, *O_accum;  // [M][N], [M][LD]
  float *row_max, *row_sum;   // [M]
};

template <class T, class Cursor>
__host__ __device__ Smem carve(Cursor& cursor) {
  Smem smem;
  smem.sQ = cursor.template array<half>("sQ", T::M, T::LD);
  smem.sK = cursor.template array<half>("sK", T::SLOTS * T::N, T::LD);
  smem.sV = cursor.template array<half>("sV", T::SLOTS * T::N, T::LD);
  smem.S_scores = cursor.template array<float>("S_scores", T::M, T::N);
  smem.O_accum = cursor.template array<float>("O_accum", T::M, T::LD);
  smem.row_max = cursor.template array<float>("row_max", T::M, 1);
  smem.row_sum = cursor.template array<float>("row_sum", T::M, 1);
  return smem;
}

// Queues the copy of the K and V rows n0 .. n0 + N - 1 into their slot; rows past S become zeros. One warp.
template <class T>
__device__ void issue_tile(const Smem& smem, const half* k, const half* v, int n0, int S, int lane) {
  const int slot = n0 / T::N % T::SLOTS;
  for (int i = lane; i < T::N * (T::D / 8); i += 32) {
    const int n = i / (T::D / 8), c = i % (T::D / 8) * 8;
    const bool inside = n0 + n < S;
    const std::size_t from = inside ? std::size_t(n0 + n) * T::D + c : 0;
    __pipeline_memcpy_async(&smem.sK[(slot * T::N + n) * T::LD + c], k + from, 16, inside ? 0 : 16);
    __pipeline_memcpy_async(&smem.sV[(slot * T::N + n) * T::LD + c], v + from, 16, inside ? 0 : 16);
  }
}

template <int D, int SLOTS>
__global__ void __launch_bounds__(THREADS)
    attention(const half* __restrict__ q, const half* __restrict__ k, const half* __restrict__ v,
              half* __restrict__ out, int H, int S, float scale, bool causal) {  // q, k, v, out: [B, H, S, D]
  using T = Tile<D, SLOTS>;
  constexpr int M = T::M, N = T::N, LD = T::LD;
  SmemCursor cursor;
  const Smem smem = carve<T>(cursor);

  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int q0 = blockIdx.x * M;  // first query row of this block
  const std::size_t head = (std::size_t(blockIdx.z) * H + blockIdx.y) * S * D;
  q += head, k += head, v += head, out += head;
  const int keys = causal ? min(S, q0 + M) : S;  // no row of this block sees a later key
  const int tiles = ceil_div(keys, N);

  // --- Prologue: the first tiles on their way, the Q tile, an empty running softmax ------------------------
  if (warp == PRODUCER)
    for (int t = 0; t < SLOTS - 1; ++t) {
      if (t < tiles) issue_tile<T>(smem, k, v, t * N, S, lane);
      __pipeline_commit();  // also when empty: the wait below counts groups
    }
  for (int i = threadIdx.x; i < M * (D / 8); i += THREADS) {
    const int r = i / (D / 8), c = i % (D / 8) * 8;
    copy8(&smem.sQ[r * LD + c], q + std::size_t(q0 + r) * D + c, q0 + r < S);
  }
  for (int i = threadIdx.x; i < M * LD; i += THREADS) smem.O_accum[i] = 0.0f;
  if (threadIdx.x < M) {
    smem.row_max[threadIdx.x] = -INFINITY;
    smem.row_sum[threadIdx.x] = 0.0f;
  }

  // --- Mainloop: one K/V tile at a time --------------------------------------------------------------------
  constexpr int ROWS = T::ROWS_PER_WARP;
  const int first_row = warp * ROWS;
  const bool computes = first_row < M && q0 + first_row < S;  // the other warps load or wait
  for (int t = 0; t < tiles; ++t) {
    if (warp == PRODUCER) __pipeline_wait_prior(SLOTS - 2);  // each lane's own copies of tile t have arrived
    __syncthreads();  // now all can see it; and all are done with tile t - 1, whose slot is next to be filled
    if (warp == PRODUCER) {
      if (t + SLOTS - 1 < tiles) issue_tile<T>(smem, k, v, (t + SLOTS - 1) * N, S, lane);
      __pipeline_commit();
    }
    const half* sK = smem.sK + t % SLOTS * N * LD;
    const half* sV = smem.sV + t % SLOTS * N * LD;

    // Scores: a warp multiplies its stripe with 16 keys at a time. A partial stripe is computed whole: its missing rows
    // of Q are zeros, and their scores are never read.
    if (!computes) continue;
    for (int n = 0; n < N; n += 16) {
      wmma::fragment<wmma::accumulator, 16, 16, 16, float> s;
      wmma::fill_fragment(s, 0.0f);
      for (int c = 0; c < D; c += 16) {
        wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
        wmma::load_matrix_sync(a, &smem.sQ[first_row * LD + c], LD);
        wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> b;
        wmma::load_matrix_sync(b, &sK[n * LD + c], LD);
        wmma::mma_sync(s, a, b, s);
      }
      wmma::store_matrix_sync(&smem.S_scores[first_row * N + n], s, N, wmma::mem_row_major);
    }
    __syncwarp();  // the scores are there; no other warp reads them

    for (int i = 0; i < ROWS; ++i) {
      const int r = first_row + i, row = q0 + r;
      if (row >= S) break;  // the same for all lanes of the warp
      float* scores = smem.S_scores + r * N;
      float* O = smem.O_accum + r * LD;

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

      // P V: a lane owns output columns.
      float2 o[T::PAIRS];
      for (int j = 0; j < T::PAIRS; ++j) {
        const float* pair = &O[64 * j + 2 * lane];
        o[j] = make_float2(pair[0] * rescale, pair[1] * rescale);
      }
#pragma unroll 16
      for (int n = 0; n < N; ++n) {
        const float p = scores[n];
        for (int j = 0; j < T::PAIRS; ++j) {
          const float2 b = load2(&sV[n * LD + 64 * j + 2 * lane]);
          o[j].x = fmaf(p, b.x, o[j].x), o[j].y = fmaf(p, b.y, o[j].y);
        }
      }
      for (int j = 0; j < T::PAIRS; ++j) O[64 * j + 2 * lane] = o[j].x, O[64 * j + 2 * lane + 1] = o[j].y;
    }
  }

  // --- Epilogue: normalise, round to fp16, store; each warp its own rows ------------------------------------
  __syncwarp();
  for (int i = 0; i < ROWS; ++i) {
    const int r = first_row + i, row = q0 + r;
    if (r >= M || row >= S) break;
    const float* O = smem.O_accum + r * LD;
    for (int c = 2 * lane; c < D; c += 64)
      store2(out + std::size_t(row) * D + c, O[c] / smem.row_sum[r], O[c + 1] / smem.row_sum[r]);
  }
}

// --- launcher --------------------------------------------------------------------------------------------
template <class T>
struct Launcher {
  static bool takes(const Shape& shape) {
    return shape.D == T::D && T::SLOTS == (shape.S >= 1024 ? 3 : 2);  // short sequences have little to run ahead of
  }
  static LaunchPlan plan(const Shape& shape) {
    SmemCount smem;
    carve<T>(smem);
    LaunchPlan plan = tile_plan<T>(shape, THREADS, smem);
    plan.empty_tile_is_nan = true;
    return plan;
  }
  static cudaError_t launch(const AttentionArgs& args, const LaunchPlan& plan) {
    const auto kernel = named_kernel<T::D, T::SLOTS>(attention<T::D, T::SLOTS>);
    if (const cudaError_t error = opt_in_smem(kernel, plan); error != cudaSuccess) return error;
    return launch_attention(kernel, plan, args);
  }
};

}  // namespace

const lab::StageInfo& lab::stage() {
  return stage_of<Launcher<Tile<64, 2>>, Launcher<Tile<64, 3>>, Launcher<Tile<128, 2>>, Launcher<Tile<128, 3>>>();
}
