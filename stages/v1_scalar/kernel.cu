// V1: fused attention in scalar code. One block computes M query rows of one head. It walks the keys in tiles of N and
// keeps, for every row, the running maximum m, the running sum l and the output O before the division by l (an online
// softmax). Nothing of size S x S is ever stored.
//
//   for each K/V tile:  m' = max(m, rowmax(s));  a = exp(m - m');  l = l a + sum(p);  O = O a + p V;  finally O / l
//
// Shared memory is static: its size is part of the kernel, and at most 48 KiB.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "common/attention_launch.cuh"
#include "common/smem_plan.cuh"
#include "common/tile.cuh"
#include "common/warp.cuh"

namespace {
using namespace lab;

// --- tile constants --------------------------------------------------------------------------------------
constexpr int WARPS = 8;
constexpr int THREADS = WARPS * 32;

template <int D_>
struct Tile {
  static constexpr int D = D_, SLOTS = 1;
  static constexpr int M = D == 64 ? 48 : 32;  // query rows per block
  static constexpr int N = D == 64 ? 64 : 32;  // keys per tile
  static constexpr int ROWS_PER_WARP = M / WARPS;
  static constexpr int LD = D + 8;              // padded pitch: neighbouring rows start in other banks
  static constexpr int COLS_PER_LANE = D / 32;  // a lane owns columns lane, lane + 32, ...
  static_assert(M % WARPS == 0, "every warp owns the same number of rows");
};

template <int D>
__global__ void __launch_bounds__(THREADS, 4)
    attention(const half* __restrict__ q, const half* __restrict__ k, const half* __restrict__ v,
              half* __restrict__ out, int H, int S, float scale, bool causal) {  // q, k, v, out: [B, H, S, D]
  using T = Tile<D>;
  constexpr int M = T::M, N = T::N, LD = T::LD;
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
  const int keys = causal ? min(S, q0 + M) : S;  // no row of this block sees a later key
  const int tiles = ceil_div(keys, N);

  // --- Prologue: the Q tile, an empty running softmax ------------------------------------------------------
  for (int i = threadIdx.x; i < M * (D / 8); i += THREADS) {
    const int r = i / (D / 8), c = i % (D / 8) * 8;
    copy8(&sQ[r][c], q + std::size_t(q0 + r) * D + c, q0 + r < S);
  }
  if (threadIdx.x < M) {
    row_max[threadIdx.x] = -INFINITY;
    row_sum[threadIdx.x] = 0.0f;
  }
  float O[T::ROWS_PER_WARP][T::COLS_PER_LANE] = {};

  // --- Mainloop: one K/V tile at a time --------------------------------------------------------------------
  constexpr int ROWS = T::ROWS_PER_WARP;
  const int first_row = warp * ROWS;
  for (int t = 0; t < tiles; ++t) {
    for (int i = threadIdx.x; i < N * (D / 8); i += THREADS) {
      const int n = i / (D / 8), c = i % (D / 8) * 8, key = t * N + n;
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
        const int key = t * N + n;
        const bool visible = key < S && (!causal || key <= row);
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
        row_sum[r] = fmaf(row_sum[r], rescale, p_sum);
      }

      // P V: a lane owns output columns.
      for (int j = 0; j < T::COLS_PER_LANE; ++j) O[i][j] *= rescale;
#pragma unroll 4
      for (int n = 0; n < N; ++n) {
        const float p = S_scores[r][n];
        for (int j = 0; j < T::COLS_PER_LANE; ++j) O[i][j] = fmaf(p, __half2float(sV[n][lane + 32 * j]), O[i][j]);
      }
    }
    __syncthreads();  // all warps are done with the tile
  }

  // --- Epilogue: normalise, round to fp16, store 16 bytes at a time ----------------------------------------
#pragma unroll
  for (int i = 0; i < ROWS; ++i) {
    const int r = first_row + i;
    for (int j = 0; j < T::COLS_PER_LANE; ++j) sO[r][lane + 32 * j] = __float2half(O[i][j] / row_sum[r]);
  }
  __syncthreads();
  for (int i = threadIdx.x; i < M * (D / 8); i += THREADS) {
    const int r = i / (D / 8), c = i % (D / 8) * 8;
    if (q0 + r < S) copy8(out + std::size_t(q0 + r) * D + c, &sO[r][c], true);
  }
}

// --- launcher --------------------------------------------------------------------------------------------
template <class T>
struct Launcher {
  static bool takes(const Shape& shape) { return shape.D == T::D; }
  static LaunchPlan plan(const Shape& shape) {
    SmemCount smem;  // the kernel's __shared__ arrays: ptxas counts them, reports want them by name
    smem.array<half>("sQ", T::M, T::LD);
    smem.array<half>("sK", T::N, T::LD);
    smem.array<half>("sV", T::N, T::LD);
    smem.array<float>("S_scores", T::M, T::N);
    smem.array<half>("sO", T::M, T::LD);
    smem.array<float>("row_max", T::M, 1);
    smem.array<float>("row_sum", T::M, 1);
    LaunchPlan plan = tile_plan<T>(shape, THREADS, {}, smem);
    plan.empty_tile_is_nan = true;
    return plan;
  }
  static cudaError_t launch(const AttentionArgs& args, const LaunchPlan& plan) {
    return launch_attention(named_kernel<T::D>(attention<T::D>), plan, args);
  }
};

}  // namespace

const lab::StageInfo& lab::stage() { return stage_of<Launcher<Tile<64>>, Launcher<Tile<128>>>(); }
