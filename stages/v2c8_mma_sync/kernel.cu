// V2c8: mma.sync in place of WMMA. Its register layout is documented, so nothing passes through shared memory: scores,
// weights, O and the running softmax stay in registers. The accumulator of Q K^T, packed to halves, is the A operand of
// P V. Four neighbouring lanes (a quad) hold a row, so a row's maximum takes two exchanges.
//
//   for each K/V tile:  m' = max(m, rowmax(s));  a = exp(m - m');  l = l a + sum(p);  O = O a + p V;  finally O / l
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include "common/attention_launch.cuh"
#include "common/half_pair.cuh"
#include "common/ptx/mma.cuh"
#include "common/smem_plan.cuh"
#include "common/tile.cuh"
#include "common/warp.cuh"

namespace {
using namespace lab;

// --- tile constants --------------------------------------------------------------------------------------
constexpr int WARPS = 4;
constexpr int THREADS = WARPS * 32;
constexpr int STRIPE = 16;  // rows of a tensor core's tile

template <int D_>
struct Tile {
  static constexpr int D = D_, SLOTS = 1;
  static constexpr int STRIPES = 1, ROWS_PER_WARP = STRIPES * STRIPE;
  static constexpr int M = WARPS * ROWS_PER_WARP;  // query rows per block
  static constexpr int N = 64;                     // keys per tile
  static constexpr int LD = D + 8;  // padded pitch: eight neighbouring rows start in eight different groups of banks
  static_assert(LD % 8 == 0, "a 16-byte cp.async needs rows that start on 16 bytes");
};

// --- shared-memory plan ----------------------------------------------------------------------------------
struct Smem {
  half *sK, *sV;  // [SLOTS * N][LD] twice
};

template <class T, class Cursor>
__host__ __device__ Smem carve(Cursor& cursor) {
  Smem smem;
  smem.sK = cursor.template array<half>("sK", T::SLOTS * T::N, T::LD);
  smem.sV = cursor.template array<half>("sV", T::SLOTS * T::N, T::LD);
  return smem;
}

// Queues the copy of rows n0 .. n0 + N - 1 of K or V, as one group. Rows from `keys` on, which no query of this block
// sees, become zeros; of a tile past them nothing is copied.
template <class T>
__device__ void issue_tile(half* to, const half* from, int n0, int keys) {
  const int first = threadIdx.x / (T::D / 8), c = threadIdx.x % (T::D / 8) * 8;
  if (n0 < keys)
#pragma unroll
    for (int n = first; n < T::N; n += THREADS / (T::D / 8)) {
      const bool inside = n0 + n < keys;
      __pipeline_memcpy_async(&to[n * T::LD + c], inside ? from + (n0 + n) * T::D + c : from, 16, inside ? 0 : 16);
    }
  __pipeline_commit();  // also when empty: the waits below count groups
}

template <int D>
__global__ void __launch_bounds__(THREADS)
    attention(const half* __restrict__ q, const half* __restrict__ k, const half* __restrict__ v,
              half* __restrict__ out, int H, int S, float scale, bool causal) {  // q, k, v, out: [B, H, S, D]
  using T = Tile<D>;
  constexpr int M = T::M, N = T::N, LD = T::LD, STRIPES = T::STRIPES;
  SmemCursor cursor;
  const Smem smem = carve<T>(cursor);

  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int q0 = blockIdx.x * M;  // first query row of this block
  const std::size_t head = (std::size_t(blockIdx.z) * H + blockIdx.y) * S * D;
  q += head, k += head, v += head, out += head;
  const int keys = causal ? min(S, q0 + M) : S;  // no row of this block sees a later key
  const int tiles = ceil_div(keys, N);
  const int quad_row = lane / 4, first_column = lane % 4 * 2;  // the lane's, in each 8x8 of the accumulator

  // --- Prologue: the first tiles on their way, Q in fragments, an empty running softmax --------------------
  issue_tile<T>(smem.sK, k, 0, keys);
  issue_tile<T>(smem.sV, v, 0, keys);
  const int first_row = warp * T::ROWS_PER_WARP;
  const auto load_q = [&](unsigned(&a)[4], int i, int kk) {  // stripe i, columns 16 kk ..
    for (int j = 0; j < 4; ++j) {
      const int row = q0 + first_row + i * STRIPE + quad_row + j % 2 * 8;
      a[j] = row < S ? half_pair_at(q + std::size_t(row) * D + 16 * kk + j / 2 * 8 + first_column) : 0;
    }
  };
  unsigned a_q[STRIPES][D / 16][4];
  for (int i = 0; i < STRIPES; ++i)
    for (int kk = 0; kk < D / 16; ++kk) load_q(a_q[i][kk], i, kk);
  float o[STRIPES][D / 8][4] = {};  // O by 8 columns: [..][2 h], [..][2 h + 1] of the stripe's row quad_row + 8 h
  float row_max[STRIPES][2], row_sum[STRIPES][2];  // of s; row_sum: the lane's own columns only
  for (int i = 0; i < STRIPES; ++i)
    for (int h = 0; h < 2; ++h) row_max[i][h] = -INFINITY, row_sum[i][h] = 0.0f;

  // --- Mainloop: one K/V tile at a time --------------------------------------------------------------------
  for (int t = 0; t < tiles; ++t) {
    __pipeline_wait_prior(1);  // all but the last group: K(t) has arrived, as far as this thread can see
    __syncthreads();           // now all can see it

    // Scores. K is stored [key][d], so the two halves of a B register are neighbours: one 32-bit load.
    float s[STRIPES][N / 8][4] = {};
#pragma unroll
    for (int n = 0; n < N / 8; ++n)
      for (int kk = 0; kk < D / 16; ++kk) {
        const half* column = &smem.sK[(8 * n + quad_row) * LD + 16 * kk + first_column];
        const unsigned b[2] = {half_pair_at(column), half_pair_at(column + 8)};
        for (int i = 0; i < STRIPES; ++i) ptx::mma_m16n8k16(s[i][n], a_q[i][kk], b);
      }
    __syncthreads();  // all are done with K(t), whose slot may be filled
    issue_tile<T>(smem.sK, k, (t + 1) * N, keys);

    // Online softmax: the row's new maximum, and what it does to everything summed so far.
    unsigned p[STRIPES][N / 8][2];  // weights as halves
#pragma unroll
    for (int i = 0; i < STRIPES; ++i) {
      for (int h = 0; h < 2; ++h) {
        float tile_max = -INFINITY;
        for (int n = 0; n < N / 8; ++n)
          for (int j = 0; j < 2; ++j) {
            const int key = t * N + 8 * n + first_column + j;
            const bool visible = key < S && (!causal || key <= q0 + first_row + i * STRIPE + quad_row + 8 * h);
            s[i][n][2 * h + j] = visible ? s[i][n][2 * h + j] * scale : -INFINITY;
            tile_max = fmaxf(tile_max, s[i][n][2 * h + j]);
          }
        const float new_max = fmaxf(row_max[i][h], quad_max(tile_max));
        const float base = new_max == -INFINITY ? 0.0f : new_max;  // a row that has seen no finite score stays empty
        const float rescale = __expf(row_max[i][h] - base);
        row_max[i][h] = new_max;
        row_sum[i][h] *= rescale;
        for (int n = 0; n < N / 8; ++n) {
          const float p0 = __expf(s[i][n][2 * h] - base), p1 = __expf(s[i][n][2 * h + 1] - base);
          row_sum[i][h] += p0 + p1;
          p[i][n][h] = half_pair(p0, p1);
        }
        for (int d = 0; d < D / 8; ++d) o[i][d][2 * h] *= rescale, o[i][d][2 * h + 1] *= rescale;
      }
    }
    __pipeline_wait_prior(1);  // V(t) has arrived, as far as this thread can see
    __syncthreads();           // now all can see it

    // P V. Two neighbouring score tiles are one A. V is stored [key][d]: the halves of a B register lie a row apart.
    for (int n = 0; n < N; n += 16)
#pragma unroll
      for (int d = 0; d < D / 8; ++d) {
        const half* column = &smem.sV[(n + first_column) * LD + 8 * d + quad_row];
        const unsigned b[2] = {half_pair(column[0], column[LD]), half_pair(column[8 * LD], column[9 * LD])};
        for (int i = 0; i < STRIPES; ++i) {
          const unsigned a[4] = {p[i][n / 8][0], p[i][n / 8][1], p[i][n / 8 + 1][0], p[i][n / 8 + 1][1]};
          ptx::mma_m16n8k16(o[i][d], a, b);
        }
      }
    __syncthreads();  // all are done with V(t)
    issue_tile<T>(smem.sV, v, (t + 1) * N, keys);
  }

  // --- Epilogue: add up the quad's sums, normalise, round to fp16, store -----------------------------------
  for (int i = 0; i < STRIPES; ++i)
    for (int h = 0; h < 2; ++h) {
      const float norm = 1.0f / quad_sum(row_sum[i][h]);
      const int r = first_row + i * STRIPE + quad_row + 8 * h;
      if (q0 + r >= S) continue;
      for (int d = 0; d < D / 8; ++d)
        store2(out + std::size_t(q0 + r) * D + 8 * d + first_column, o[i][d][2 * h] * norm, o[i][d][2 * h + 1] * norm);
    }
}

// --- launcher --------------------------------------------------------------------------------------------
template <class T>
struct Launcher {
  static bool takes(const Shape& shape) { return shape.D == T::D; }
  static LaunchPlan plan(const Shape& shape) {
    SmemCount smem;
    carve<T>(smem);
    LaunchPlan plan = tile_plan<T>(shape, THREADS, smem);
    plan.half_p = true;
    return plan;
  }
  static cudaError_t launch(const AttentionArgs& args, const LaunchPlan& plan) {
    const auto kernel = named_kernel<T::D>(attention<T::D>);
    if (const cudaError_t error = opt_in_smem(kernel, plan); error != cudaSuccess) return error;
    return launch_attention(kernel, plan, args);
  }
};

}  // namespace

const lab::StageInfo& lab::stage() { return stage_of<Launcher<Tile<64>>, Launcher<Tile<128>>>(); }
