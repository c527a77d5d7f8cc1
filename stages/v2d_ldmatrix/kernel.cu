// V2d: ldmatrix, and an XOR swizzle in place of padding. One ldmatrix.x4 fills two B operands (with .trans for V, whose
// rows lie the other way). It reads rows of 16 bytes, eight at a time, which must lie in eight different groups of
// banks: chunk c of row r is stored at place c ^ (r % 8). K and V share a ring of slots. Short grids get half the rows
// per warp.
//
//   for each K/V tile:  m' = max(m, rowmax(s));  a = exp(m - m');  l = l a + sum(p);  O = O a + p V;  finally O / l
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include "common/attention_launch.cuh"
#include "common/exp2_scale.cuh"
#include "common/fills_a_gpu.hpp"
#include "common/mma_pair.cuh"
#include "common/ptx/ldmatrix.cuh"
#include "common/smem_plan.cuh"
#include "common/stripe_softmax.cuh"
#include "common/tile.cuh"
#include "common/tile_copy.cuh"
#include "common/tile_store.cuh"
#include "common/warp.cuh"

namespace {
using namespace lab;

// --- tile constants --------------------------------------------------------------------------------------
constexpr int WARPS = 4;
constexpr int THREADS = WARPS * 32;
constexpr int STRIPE = 16;  // rows of a tensor core's tile

template <int D_, int ROWS>
struct Tile {
  static constexpr int D = D_, SLOTS = D == 64 ? 3 : 2;
  static constexpr int ROWS_PER_WARP = ROWS, STRIPES = ROWS / STRIPE;
  static constexpr int M = WARPS * ROWS_PER_WARP;  // query rows per block
  static constexpr int N = 64;                     // keys per tile
  static constexpr int LD = D;                     // no padding: rows are swizzled
  static_assert(LD % 8 == 0, "a 16-byte cp.async needs rows that start on 16 bytes");
  static constexpr bool KEEPS_Q = D == 64 || STRIPES == 1;  // in registers; else its fragments are read per tile
};

// Where column c of row r lies in sQ, sK or sV.
template <class T>
__host__ __device__ constexpr int swizzled(int r, int c) {
  return r * T::LD + ((c / 8) ^ (r % 8)) * 8 + c % 8;
}

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

// Queues the copies of tile t of K and V into its slot, as one group. Rows from `keys` on, which no query of this block
// sees, become zeros; of a tile past them nothing is copied.
template <class T>
__device__ __forceinline__ void issue_tile(const Smem& smem, const half* k, const half* v, int t, int tiles, int keys) {
  if (t < tiles) {
    copy_rows_async<T::N, T::D, swizzled<T>, THREADS>(smem.sK + t % T::SLOTS * T::N * T::LD, k, t * T::N, keys);
    copy_rows_async<T::N, T::D, swizzled<T>, THREADS>(smem.sV + t % T::SLOTS * T::N * T::LD, v, t * T::N, keys);
  }
  __pipeline_commit();  // also when empty: the waits below count groups
}

template <int D, int ROWS>
__global__ void __launch_bounds__(THREADS, 2)
    attention(const half* __restrict__ q, const half* __restrict__ k, const half* __restrict__ v,
              half* __restrict__ out, int H, int S, float scale, bool causal) {  // q, k, v, out: [B, H, S, D]
  using T = Tile<D, ROWS>;
  constexpr int M = T::M, N = T::N, LD = T::LD, SLOTS = T::SLOTS, STRIPES = T::STRIPES;
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
  for (int t = 0; t < SLOTS - 1; ++t) issue_tile<T>(smem, k, v, t, tiles, keys);
  const unsigned sign = sign_bits(scale);
  const float scale_log2 = exp2_unit(scale);  // exp(scale s - m) is 2^(scale_log2 s - base) if Q has the sign of scale
#pragma unroll
  for (int i = 0; i < M; i += THREADS / (D / 8)) {
    const int r = i + threadIdx.x / (D / 8), col = threadIdx.x % (D / 8) * 8;
    *reinterpret_cast<uint4*>(&smem.sQ[swizzled<T>(r, col)]) = load8<D>(q, q0 + r, col, S, sign);
  }
  const int first_row = warp * T::ROWS_PER_WARP;
  const auto load_q = [&](unsigned(&a)[4], int i, int kk) {  // stripe i, columns 16 kk ..
    ptx::ldmatrix_x4(a, &smem.sQ[swizzled<T>(first_row + i * STRIPE + lane % 16, 16 * kk + lane / 16 * 8)]);
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
    __pipeline_wait_prior(SLOTS - 2);  // tile t has arrived, as far as this thread can see
    __syncthreads();  // now all can see it; and all are done with tile t - 1, whose slot is next to be filled
    issue_tile<T>(smem, k, v, t + SLOTS - 1, tiles, keys);
    const half *sK = smem.sK + t % SLOTS * N * LD, *sV = smem.sV + t % SLOTS * N * LD;
    // Scores: 16 keys and 16 columns at a time, for all stripes of the warp.
    float s[STRIPES][N / 8][4] = {};
#pragma unroll
    for (int kk = 0; kk < D / 16; ++kk) {
      for (int i = 0; i < STRIPES && !T::KEEPS_Q; ++i) load_q(a_q[i][0], i, kk);
      for (int n = 0; n < N; n += 16) {
        unsigned b0[2], b1[2];
        ptx::ldmatrix_x4(b0, b1, &sK[swizzled<T>(n + lane % 8 + lane / 16 * 8, 16 * kk + lane / 8 % 2 * 8)]);
        for (int i = 0; i < STRIPES; ++i) mma_pair(s[i], n / 8, a_q[i][T::KEEPS_Q ? kk : 0], b0, b1);
      }
    }
    // Only a tile on the diagonal or at the end of the keys has anything to hide.
    if ((t + 1) * N > S || (causal && (t + 1) * N > q0 + first_row + 1))
      for (int i = 0; i < STRIPES; ++i)
        hide_keys(s[i], q0 + first_row + i * STRIPE + quad_row, t * N, first_column, S, causal);

    // Online softmax: the row's new maximum, and what it does to everything summed so far.
    unsigned p[STRIPES][N / 16][4];  // weights as halves: A operands of 16 keys each
#pragma unroll
    for (int i = 0; i < STRIPES; ++i) weigh_stripe(s[i], scale_log2, p[i], row_max[i], row_sum[i], o[i]);

    // P V: 16 keys and 16 columns at a time. Two neighbouring score tiles are one A.
    for (int n = 0; n < N; n += 16)
#pragma unroll
      for (int d = 0; d < D; d += 16) {
        unsigned b0[2], b1[2];
        ptx::ldmatrix_x4_trans(b0, b1, &sV[swizzled<T>(n + lane % 16, d + lane / 16 * 8)]);
        for (int i = 0; i < STRIPES; ++i) mma_pair(o[i], d / 8, p[i][n / 16], b0, b1);
      }
  }

  // --- Epilogue: add up the quad's sums, normalise, round to fp16, store -----------------------------------
  __syncwarp();  // the last read of the warp's rows of Q is over: the output takes their place
#pragma unroll
  for (int i = 0; i < STRIPES; ++i)
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const float norm = 1.0f / quad_sum(row_sum[i][h]);
      const int r = first_row + i * STRIPE + quad_row + 8 * h;
      for (int d = 0; d < D / 8; ++d)
        store2(&smem.sQ[swizzled<T>(r, 8 * d + first_column)], o[i][d][2 * h] * norm, o[i][d][2 * h + 1] * norm);
    }
  __syncwarp();  // and leaves by 16 bytes per lane
  store_rows<T::ROWS_PER_WARP, D, swizzled<T>>(out, smem.sQ, first_row, q0, S, lane);
}

// --- launcher --------------------------------------------------------------------------------------------
template <class T>
struct Launcher {
  static bool takes(const Shape& shape) { return shape.D == T::D && fills_a_gpu(shape, WARPS) == (T::STRIPES == 2); }
  static LaunchPlan plan(const Shape& shape) {
    SmemCount smem;
    carve<T>(smem);
    LaunchPlan plan = tile_plan<T>(shape, THREADS, smem);
    plan.half_p = true;
    return plan;
  }
  static cudaError_t launch(const AttentionArgs& args, const LaunchPlan& plan) {
    const auto kernel = named_kernel<T::D, T::ROWS_PER_WARP>(attention<T::D, T::ROWS_PER_WARP>);
    if (const cudaError_t error = opt_in_smem(kernel, plan); error != cudaSuccess) return error;
    return launch_attention(kernel, plan, args);
  }
};

}  // namespace

const lab::StageInfo& lab::stage() {
  return stage_of<Launcher<Tile<64, 16>>, Launcher<Tile<64, 32>>, Launcher<Tile<128, 16>>, Launcher<Tile<128, 32>>>();
}
