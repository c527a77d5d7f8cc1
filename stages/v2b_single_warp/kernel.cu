// V2b: shared memory asked for at launch, K/V tiles copied ahead by cp.async, and one warp that owns a row.
// Every warp folds whole tiles into its own consecutive rows, so no two warps ever touch the same (m, l, O).
// All eight warps compute; warp 7 also issues the copies.
//
//   for each K/V tile:  m' = max(m, rowmax(s));  a = exp(m - m');  l = l a + sum(p);  O = O a + p V;  finally O / l
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include "common/launch.cuh"
#include "common/planted.hpp"
#include "common/smem_plan.cuh"
#include "common/stage.hpp"
#include "common/tile.cuh"
#include "common/warp.cuh"

namespace {
using namespace lab;

// --- bugs: make stage=v2b reproduce-bug bug=NAME ---------------------------------------------------------
constexpr bool interwarp_race = planted("interwarp_race");  // two warps fold half a tile each into the same row
constexpr bool smem_48k = planted("smem_48k");              // no opt-in for more than 48 KiB
constexpr bool smem_overflow = planted("smem_overflow");    // D = 128 keeps the tile of D = 64, and three stages
constexpr bool warp7_nan = planted("warp7_nan");            // the producer warp owns rows but computes none
constexpr bool accum_tail = planted("accum_tail");          // O is cleared as if its rows were not padded

// --- tile constants --------------------------------------------------------------------------------------
constexpr int WARPS = 8;
constexpr int THREADS = WARPS * 32;
constexpr int PRODUCER = 7;  // the warp that issues the copies

template <int D_, int STAGES_>
struct Tile {
  static constexpr int D = D_, STAGES = STAGES_;
  static constexpr bool LARGE = D == 64 || smem_overflow;
  static constexpr int M = LARGE ? 64 : 48;  // query rows a block
  static constexpr int N = LARGE ? 64 : 32;  // keys a tile
  static constexpr int ROWS_PER_WARP = M / WARPS;
  static constexpr int LD = D + 8;      // padded pitch: neighbouring rows start in other banks
  static constexpr int PAIRS = D / 64;  // a lane owns columns 2 lane, 2 lane + 1, then those + 64
  static_assert(M % WARPS == 0, "every warp owns the same number of rows");
  static_assert(LD % 8 == 0, "a 16-byte cp.async needs rows that start on 16 bytes");
};

// --- shared-memory plan ----------------------------------------------------------------------------------
struct Smem {
  half *sQ, *sK, *sV;         // [M][LD], [STAGES * N][LD] twice
  float *S_scores, *O_accum;  // [M][N], [M][LD]
  float *row_max, *row_sum;   // [M]
};

template <class T, class Cursor>
__host__ __device__ Smem carve(Cursor& cursor) {
  Smem smem;
  smem.sQ = cursor.template array<half>("sQ", T::M, T::LD);
  smem.sK = cursor.template array<half>("sK", T::STAGES * T::N, T::LD);
  smem.sV = cursor.template array<half>("sV", T::STAGES * T::N, T::LD);
  smem.S_scores = cursor.template array<float>("S_scores", T::M, T::N);
  smem.O_accum = cursor.template array<float>("O_accum", T::M, T::LD);
  smem.row_max = cursor.template array<float>("row_max", T::M, 1);
  smem.row_sum = cursor.template array<float>("row_sum", T::M, 1);
  return smem;
}

// Queues the copy of the K and V rows n0 .. n0 + N - 1 into their slot; rows past S become zeros. One warp.
template <class T>
__device__ void issue_tile(const Smem& smem, const half* k, const half* v, int n0, int S, int lane) {
  const int slot = n0 / T::N % T::STAGES;
  for (int i = lane; i < T::N * (T::D / 8); i += 32) {
    const int n = i / (T::D / 8), c = i % (T::D / 8) * 8;
    const bool inside = n0 + n < S;
    const std::size_t from = inside ? std::size_t(n0 + n) * T::D + c : 0;
    __pipeline_memcpy_async(&smem.sK[(slot * T::N + n) * T::LD + c], k + from, 16, inside ? 0 : 16);
    __pipeline_memcpy_async(&smem.sV[(slot * T::N + n) * T::LD + c], v + from, 16, inside ? 0 : 16);
  }
}

template <int D, int STAGES>
__global__ void __launch_bounds__(THREADS)
    v2b_kernel(const half* __restrict__ q, const half* __restrict__ k, const half* __restrict__ v,
               half* __restrict__ out, int H, int S, float scale, bool causal) {  // q, k, v, out: [B, H, S, D]
  using T = Tile<D, STAGES>;
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
    for (int t = 0; t < STAGES - 1; ++t) {
      if (t < tiles) issue_tile<T>(smem, k, v, t * N, S, lane);
      __pipeline_commit();  // also when empty: the wait below counts groups
    }
  for (int i = threadIdx.x; i < M * (D / 8); i += THREADS) {
    const int r = i / (D / 8), c = i % (D / 8) * 8;
    copy8(&smem.sQ[r * LD + c], q + std::size_t(q0 + r) * D + c, q0 + r < S);
  }
  for (int i = threadIdx.x; i < M * (accum_tail ? D : LD); i += THREADS) smem.O_accum[i] = 0.0f;
  if (threadIdx.x < M) {
    smem.row_max[threadIdx.x] = -INFINITY;
    smem.row_sum[threadIdx.x] = 0.0f;
  }

  // --- Mainloop: one K/V tile at a time --------------------------------------------------------------------
  constexpr int WARPS_PER_ROW = interwarp_race ? 2 : 1;
  constexpr int ROWS = T::ROWS_PER_WARP * WARPS_PER_ROW, KEYS = N / WARPS_PER_ROW;
  const int first_row = warp / WARPS_PER_ROW * ROWS, first_key = warp % WARPS_PER_ROW * KEYS;
  for (int t = 0; t < tiles; ++t) {
    if (warp == PRODUCER) __pipeline_wait_prior(STAGES - 2);  // tile t has arrived, as far as this warp can see
    __syncthreads();  // now all can see it; and all are done with tile t - 1, whose slot is next to be filled
    if (warp == PRODUCER) {
      if (t + STAGES - 1 < tiles) issue_tile<T>(smem, k, v, (t + STAGES - 1) * N, S, lane);
      __pipeline_commit();
    }
    const half* sK = smem.sK + t % STAGES * N * LD;
    const half* sV = smem.sV + t % STAGES * N * LD;

    for (int i = 0; i < ROWS; ++i) {
      const int r = first_row + i, row = q0 + r;
      if (row >= S || (warp7_nan && warp == PRODUCER)) break;  // the same for all lanes of the warp
      float* scores = smem.S_scores + r * N + first_key;
      float* O = smem.O_accum + r * LD;

      // Scores: all lanes share each dot product, two columns a lane, and the warp adds them up.
      float2 q_pair[T::PAIRS];
      for (int j = 0; j < T::PAIRS; ++j) q_pair[j] = load2(&smem.sQ[r * LD + 64 * j + 2 * lane]);
      float tile_max = -INFINITY;
      for (int n = 0; n < KEYS; ++n) {
        float s = 0.0f;
        for (int j = 0; j < T::PAIRS; ++j) {
          const float2 b = load2(&sK[(first_key + n) * LD + 64 * j + 2 * lane]);
          s += q_pair[j].x * b.x + q_pair[j].y * b.y;
        }
        s = warp_sum(s);
        const int key = t * N + first_key + n;
        const bool visible = key < S && (!causal || key <= row);
        s = visible ? s * scale : -INFINITY;
        if (lane == n % 32) scores[n] = s;  // the lane that exponentiates it below
        tile_max = fmaxf(tile_max, s);      // every lane has every score: no reduction needed
      }

      // Online softmax: the row's new maximum, and what it does to everything summed so far.
      const float old_max = smem.row_max[r];
      const float new_max = fmaxf(old_max, tile_max);
      float p_sum = 0.0f;
      for (int n = lane; n < KEYS; n += 32) {
        const float p = __expf(scores[n] - new_max);
        scores[n] = p;
        p_sum += p;
      }
      p_sum = warp_sum(p_sum);
      const float rescale = __expf(old_max - new_max);
      __syncwarp();  // the weights are written by all lanes and read by all; row_max[r] has been read by all
      if (lane == 0) {
        smem.row_max[r] = new_max;
        smem.row_sum[r] = smem.row_sum[r] * rescale + p_sum;
      }

      // P V: a lane owns output columns.
      float2 o[T::PAIRS];
      for (int j = 0; j < T::PAIRS; ++j) {
        const float* pair = &O[64 * j + 2 * lane];
        o[j] = make_float2(pair[0] * rescale, pair[1] * rescale);
      }
      for (int n = 0; n < KEYS; ++n) {
        const float p = scores[n];
        for (int j = 0; j < T::PAIRS; ++j) {
          const float2 b = load2(&sV[(first_key + n) * LD + 64 * j + 2 * lane]);
          o[j].x += p * b.x, o[j].y += p * b.y;
        }
      }
      for (int j = 0; j < T::PAIRS; ++j) O[64 * j + 2 * lane] = o[j].x, O[64 * j + 2 * lane + 1] = o[j].y;
    }
  }

  // --- Epilogue: normalise, round to fp16, store; each warp its own rows ------------------------------------
  __syncwarp();
  for (int i = 0; i < ROWS; ++i) {
    const int r = first_row + i, row = q0 + r;
    if (row >= S) break;
    const float* O = smem.O_accum + r * LD;
    for (int c = 2 * lane; c < D; c += 64)
      store2(out + std::size_t(row) * D + c, O[c] / smem.row_sum[r], O[c + 1] / smem.row_sum[r]);
  }
}

// --- launcher --------------------------------------------------------------------------------------------
constexpr int stages_for(int S) { return S >= 1024 ? 3 : 2; }  // short sequences have little to run ahead of

template <int D, int STAGES>
LaunchPlan plan_for(const Shape& shape) {
  using T = Tile<D, STAGES>;
  SmemCount count;
  carve<T>(count);
  LaunchPlan plan;
  plan.tile_m = T::M, plan.tile_n = T::N, plan.rows_per_warp = T::ROWS_PER_WARP, plan.stages = STAGES;
  plan.grid = dim3(ceil_div(shape.S, T::M), shape.H, shape.B);
  plan.block = dim3(THREADS);
  plan.dynamic_smem = count.bytes;
  plan.arrays = count.arrays;
  return plan;
}

LaunchPlan plan(const Shape& shape) {
  const bool three = stages_for(shape.S) == 3;
  if (shape.D == 64) return three ? plan_for<64, 3>(shape) : plan_for<64, 2>(shape);
  return three ? plan_for<128, 3>(shape) : plan_for<128, 2>(shape);
}

cudaError_t launch_v2b(const AttentionArgs& a) {
  const LaunchPlan p = plan(a.shape);
  const auto go = [&](auto* kernel, const char* name) {
    if (!smem_48k)
      if (const cudaError_t error = opt_in_smem(name, kernel, p.dynamic_smem); error != cudaSuccess) return error;
    return launch(name, kernel, p.grid, p.block, p.dynamic_smem, a.stream, a.q, a.k, a.v, a.out, a.shape.H, a.shape.S,
                  a.scale, a.shape.causal);
  };
  if (a.shape.D == 64)
    return p.stages == 3 ? go(v2b_kernel<64, 3>, "v2b_kernel<64,3>") : go(v2b_kernel<64, 2>, "v2b_kernel<64,2>");
  return p.stages == 3 ? go(v2b_kernel<128, 3>, "v2b_kernel<128,3>") : go(v2b_kernel<128, 2>, "v2b_kernel<128,2>");
}

}  // namespace

const lab::StageInfo& lab::stage() {
  static const StageInfo info{
      "v2b_single_warp", launch_v2b, plan, {"interwarp_race", "smem_48k", "smem_overflow", "warp7_nan", "accum_tail"}};
  return info;
}

#include "common/build_info.hpp"
