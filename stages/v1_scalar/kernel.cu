// V1: fused attention in scalar code. One block computes M query rows of one head; it walks the keys a tile of N at a
// time and keeps, for every row, the running maximum m, the running sum l and the unnormalised output O ("streaming" or
// "online" softmax), so that nothing of size S x S is ever stored.
//
//   for each K/V tile:  m' = max(m, rowmax(s));  a = exp(m - m');  l = l a + sum(p);  O = O a + p V;  finally O / l
//
// Shared memory is static: its size is part of the kernel, and 48 KiB is all there is.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "common/launch.cuh"
#include "common/planted.hpp"
#include "common/smem_plan.cuh"
#include "common/stage.hpp"
#include "common/tile.cuh"
#include "common/warp.cuh"

namespace {
using namespace lab;

// --- bugs: make stage=v1 reproduce-bug bug=NAME ----------------------------------------------------------
constexpr bool head_dim_64 = planted("head_dim_64");  // tile and loops know 64 columns, rows are D apart

// --- tile constants --------------------------------------------------------------------------------------
constexpr int WARPS = 8;
constexpr int THREADS = WARPS * 32;

template <int D>
struct Tile {
  static constexpr int COLS = head_dim_64 ? 64 : D;  // head dimensions that the tile holds
  static constexpr int M = COLS == 64 ? 48 : 32;     // query rows a block
  static constexpr int N = COLS == 64 ? 64 : 32;     // keys a tile
  static constexpr int ROWS_PER_WARP = M / WARPS;
  static constexpr int LD = COLS + 8;  // padded pitch: neighbouring rows start in other banks
  static constexpr int COLS_PER_LANE = COLS / 32;
  static constexpr std::size_t SMEM = smem_bytes(M * LD, 2) + 2 * smem_bytes(N * LD, 2) + smem_bytes(M * N, 4) +
                                      smem_bytes(M * LD, 2) + 2 * smem_bytes(M, 4);
  static_assert(M % WARPS == 0, "every warp owns the same number of rows");
  static_assert(SMEM <= SMEM_WITHOUT_OPT_IN, "static shared memory ends at 48 KiB");
};

template <int D>
__global__ void __launch_bounds__(THREADS, 4)
    v1_kernel(const half* __restrict__ q, const half* __restrict__ k, const half* __restrict__ v,
              half* __restrict__ out, int H, int S, float scale, bool causal) {  // q, k, v, out: [B, H, S, D]
  using T = Tile<D>;
  constexpr int M = T::M, N = T::N, LD = T::LD, COLS = T::COLS;
  LAB_SHARED(half, sQ, [M][LD]);
  LAB_SHARED(half, sK, [N][LD]);
  LAB_SHARED(half, sV, [N][LD]);
  LAB_SHARED(float, S_scores, [M][N]);
  LAB_SHARED(half, sO, [M][LD]);  // finished rows wait here for 16-byte stores
  LAB_SHARED(float, row_max, [M]);
  LAB_SHARED(float, row_sum, [M]);

  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int q0 = blockIdx.x * M;  // first query row of this block
  const std::size_t head = (std::size_t(blockIdx.z) * H + blockIdx.y) * S * D;
  q += head, k += head, v += head, out += head;

  // --- Prologue: the Q tile, and an empty running softmax --------------------------------------------------
  for (int i = threadIdx.x; i < M * (COLS / 8); i += THREADS) {
    const int r = i / (COLS / 8), c = i % (COLS / 8) * 8;
    copy8(&sQ[r][c], q + std::size_t(q0 + r) * D + c, q0 + r < S);
  }
  if (threadIdx.x < M) {
    row_max[threadIdx.x] = -INFINITY;
    row_sum[threadIdx.x] = 0.0f;
  }
  float O[T::ROWS_PER_WARP][T::COLS_PER_LANE] = {};  // lane owns columns lane, lane + 32, ... of its warp's rows

  // --- Mainloop: one K/V tile at a time --------------------------------------------------------------------
  const int keys = causal ? min(S, q0 + M) : S;  // no row of this block sees a later key
  for (int n0 = 0; n0 < keys; n0 += N) {
    for (int i = threadIdx.x; i < N * (COLS / 8); i += THREADS) {
      const int n = i / (COLS / 8), c = i % (COLS / 8) * 8;
      copy8(&sK[n][c], k + std::size_t(n0 + n) * D + c, n0 + n < S);
      copy8(&sV[n][c], v + std::size_t(n0 + n) * D + c, n0 + n < S);
    }
    __syncthreads();  // the tile is there

#pragma unroll
    for (int i = 0; i < T::ROWS_PER_WARP; ++i) {
      const int r = warp * T::ROWS_PER_WARP + i, row = q0 + r;
      if (row >= S) break;  // the same for all lanes: only this warp's rows are skipped

      // Scores: a lane computes whole dot products, for keys lane, lane + 32, ...
      float tile_max = -INFINITY;
      for (int n = lane; n < N; n += 32) {
        float s = 0.0f;
#pragma unroll 8
        for (int c = 0; c < COLS; c += 2) {
          const float2 a = load2(&sQ[r][c]), b = load2(&sK[n][c]);
          s += a.x * b.x + a.y * b.y;
        }
        const bool visible = n0 + n < S && (!causal || n0 + n <= row);
        s = visible ? s * scale : -INFINITY;
        S_scores[r][n] = s;
        tile_max = fmaxf(tile_max, s);
      }

      // Online softmax: the row's new maximum, and what it does to everything summed so far.
      const float old_max = row_max[r];
      const float new_max = fmaxf(old_max, warp_max(tile_max));
      float p_sum = 0.0f;
      for (int n = lane; n < N; n += 32) {
        const float p = __expf(S_scores[r][n] - new_max);
        S_scores[r][n] = p;
        p_sum += p;
      }
      p_sum = warp_sum(p_sum);
      const float rescale = __expf(old_max - new_max);
      __syncwarp();  // the weights are written by all lanes and read by all; row_max[r] has been read by all
      if (lane == 0) {
        row_max[r] = new_max;
        row_sum[r] = row_sum[r] * rescale + p_sum;
      }

      // P V: a lane owns output columns.
      for (int j = 0; j < T::COLS_PER_LANE; ++j) O[i][j] *= rescale;
#pragma unroll 4
      for (int n = 0; n < N; ++n) {
        const float p = S_scores[r][n];
        for (int j = 0; j < T::COLS_PER_LANE; ++j) O[i][j] += p * __half2float(sV[n][lane + 32 * j]);
      }
    }
    __syncthreads();  // all warps are done with the tile
  }

  // --- Epilogue: normalise, round to fp16, store 16 bytes at a time ----------------------------------------
#pragma unroll
  for (int i = 0; i < T::ROWS_PER_WARP; ++i) {
    const int r = warp * T::ROWS_PER_WARP + i;
    for (int j = 0; j < T::COLS_PER_LANE; ++j) sO[r][lane + 32 * j] = __float2half(O[i][j] / row_sum[r]);
  }
  __syncthreads();
  for (int i = threadIdx.x; i < M * (COLS / 8); i += THREADS) {
    const int r = i / (COLS / 8), c = i % (COLS / 8) * 8;
    if (q0 + r < S) copy8(out + std::size_t(q0 + r) * D + c, &sO[r][c], true);
  }
}

// --- launcher --------------------------------------------------------------------------------------------
template <int D>
LaunchPlan plan_for(const Shape& shape) {
  using T = Tile<D>;
  SmemCount count;
  count.array<half>("sQ", T::M, T::LD);
  count.array<half>("sK", T::N, T::LD);
  count.array<half>("sV", T::N, T::LD);
  count.array<float>("S_scores", T::M, T::N);
  count.array<half>("sO", T::M, T::LD);
  count.array<float>("row_max", T::M, 1);
  count.array<float>("row_sum", T::M, 1);
  LaunchPlan plan;
  plan.tile_m = T::M, plan.tile_n = T::N, plan.rows_per_warp = T::ROWS_PER_WARP, plan.stages = 1;
  plan.grid = dim3(ceil_div(shape.S, T::M), shape.H, shape.B);
  plan.block = dim3(THREADS);
  plan.static_smem = T::SMEM;
  plan.arrays = count.arrays;
  return plan;
}

LaunchPlan plan(const Shape& shape) { return shape.D == 64 ? plan_for<64>(shape) : plan_for<128>(shape); }

cudaError_t launch_v1(const AttentionArgs& a) {
  const LaunchPlan p = plan(a.shape);
  const auto go = [&](auto* kernel, const char* name) {
    return launch(name, kernel, p.grid, p.block, 0, a.stream, a.q, a.k, a.v, a.out, a.shape.H, a.shape.S, a.scale,
                  a.shape.causal);
  };
  return a.shape.D == 64 ? go(v1_kernel<64>, "v1_kernel<64>") : go(v1_kernel<128>, "v1_kernel<128>");
}

}  // namespace

const lab::StageInfo& lab::stage() {
  static const StageInfo info{"v1_scalar", launch_v1, plan, {"head_dim_64"}};
  return info;
}

#include "common/build_info.hpp"
