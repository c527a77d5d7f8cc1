// V2c9: 32 query rows per warp, two stripes of 16: every B operand that is loaded from shared memory serves two
// products. And fewer instructions around the products: a weight takes a subtraction, a multiplication and an ex2 in
// place of expf's four instructions; only tiles with a hidden key are masked; O is rescaled only where a maximum has
// grown.
//
//   for each K/V tile:  m' = max(m, rowmax(s));  a = exp(m - m');  l = l a + sum(p);  O = O a + p V;  finally O / l
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include "common/attention_launch.cuh"
#include "common/exp2_scale.cuh"
#include "common/half_pair.cuh"
#include "common/ptx/mma.cuh"
#include "common/smem_plan.cuh"
#include "common/stripe_softmax.cuh"
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
  static constexpr int STRIPES = 2, ROWS_PER_WARP = STRIPES * STRIPE;
  static constexpr int M = WARPS * ROWS_PER_WARP;  // query rows per block
  static constexpr int N = D == 64 ? 64 : 32;      // keys per tile
  static constexpr int LD = D + 8;  // padded pitch: eight neighbouring rows start in eight different groups of banks
  static_assert(LD % 8 == 0, "a 16-byte cp.async needs rows that start on 16 bytes");
  static constexpr bool KEEPS_Q = D == 64;  // in registers; else its fragments are read per tile
};

// --- shared-memory plan ----------------------------------------------------------------------------------
struct Smem {
  half *sQ, *sK, *sV;  // [M][LD], [SLOTS * N][LD] twice
};

template <class T, class Cursor>
__host__ __device__ Smem carve(Cursor& cursor) {
  Smem smem;
  smem.sQ = cursor.template array<half>("sQ", T::M, T::LD);
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
__global__ void __launch_bounds__(THREADS, 2)
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

  // --- Prologue: the first tiles on their way, the Q tile, an empty running softmax ------------------------
  issue_tile<T>(smem.sK, k, 0, keys);
  issue_tile<T>(smem.sV, v, 0, keys);
  const unsigned sign = sign_bits(scale);
  const float scale_log2 = exp2_unit(scale);  // exp(scale s - m) is 2^(scale_log2 s - base) if Q has the sign of scale
  for (int i = threadIdx.x; i < M * (D / 8); i += THREADS) {
    const int r = i / (D / 8), col = i % (D / 8) * 8;
    *reinterpret_cast<uint4*>(&smem.sQ[r * LD + col]) = load8<D>(q, q0 + r, col, S, sign);
  }
  const int first_row = warp * T::ROWS_PER_WARP;
  const auto load_q = [&](unsigned(&a)[4], int i, int kk) {  // stripe i, columns 16 kk ..
    for (int j = 0; j < 4; ++j) {
      const int r = first_row + i * STRIPE + quad_row + j % 2 * 8;
      a[j] = half_pair_at(&smem.sQ[r * LD + 16 * kk + j / 2 * 8 + first_column]);
    }
  };
  unsigned a_q[STRIPES][T::KEEPS_Q ? D / 16 : 1][4];
  if (T::KEEPS_Q) __syncthreads();  // the Q tile is there; elsewhere the mainloop's barrier sees to that
  for (int i = 0; i < STRIPES; ++i)
    for (int kk = 0; kk < D / 16 && T::KEEPS_Q; ++kk) load_q(a_q[i][kk], i, kk);
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
    for (int kk = 0; kk < D / 16; ++kk) {
      for (int i = 0; i < STRIPES && !T::KEEPS_Q; ++i) load_q(a_q[i][0], i, kk);
      for (int n = 0; n < N / 8; ++n) {
        const half* column = &smem.sK[(8 * n + quad_row) * LD + 16 * kk + first_column];
        const unsigned b[2] = {half_pair_at(column), half_pair_at(column + 8)};
        for (int i = 0; i < STRIPES; ++i) ptx::mma_m16n8k16(s[i][n], a_q[i][T::KEEPS_Q ? kk : 0], b);
      }
    }
    __syncthreads();  // all are done with K(t), whose slot may be filled
    issue_tile<T>(smem.sK, k, (t + 1) * N, keys);

    // Only a tile on the diagonal or at the end of the keys has anything to hide.
    if ((t + 1) * N > S || (causal && (t + 1) * N > q0 + first_row + 1))
      for (int i = 0; i < STRIPES; ++i)
        hide_keys(s[i], q0 + first_row + i * STRIPE + quad_row, t * N, first_column, S, causal);

    // Online softmax: the row's new maximum, and what it does to everything summed so far.
    unsigned p[STRIPES][N / 16][4];  // weights as halves: A operands of 16 keys each
#pragma unroll
    for (int i = 0; i < STRIPES; ++i) weigh_stripe(s[i], scale_log2, p[i], row_max[i], row_sum[i], o[i]);
    __pipeline_wait_prior(1);  // V(t) has arrived, as far as this thread can see
    __syncthreads();           // now all can see it

    // P V. Two neighbouring score tiles are one A. V is stored [key][d]: the halves of a B register lie a row apart.
#pragma unroll
    for (int n = 0; n < N; n += 16)
#pragma unroll
      for (int d = 0; d < D / 8; ++d) {
        const half* column = &smem.sV[(n + first_column) * LD + 8 * d + quad_row];
        const unsigned b[2] = {half_pair(column[0], column[LD]), half_pair(column[8 * LD], column[9 * LD])};
        for (int i = 0; i < STRIPES; ++i) ptx::mma_m16n8k16(o[i][d], p[i][n / 16], b);
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
