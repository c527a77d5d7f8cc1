// V3a: TMA. One thread names a box of a tensor and an address in shared memory. The copy engine computes the addresses,
// swizzles, writes zeros where the tensor ends, and counts the bytes on an mbarrier. Each slot has two mbarriers in
// place of a block barrier: `full` counts the bytes of its tile, `empty` the warps that have read the tile.
//
//   for each K/V tile:  m' = max(m, rowmax(s));  a = exp(m - m');  l = l a + sum(p);  O = O a + p V;  finally O / l
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "common/attention_tma.cuh"
#include "common/exp2_scale.cuh"
#include "common/fills_a_gpu.hpp"
#include "common/hopper/swizzle.cuh"
#include "common/mma_pair.cuh"
#include "common/ptx/ldmatrix.cuh"
#include "common/ptx/mbarrier.cuh"
#include "common/ptx/tma.cuh"
#include "common/smem_plan.cuh"
#include "common/stripe_softmax.cuh"
#include "common/tile.cuh"
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
  static constexpr int M = WARPS * ROWS_PER_WARP;           // query rows per block
  static constexpr int N = 64;                              // keys per tile
  static constexpr bool KEEPS_Q = D == 64 || STRIPES == 1;  // in registers; else its fragments are read per tile
  static constexpr unsigned Q_BYTES = M * D * sizeof(half), TILE_BYTES = N * D * sizeof(half);
};

// --- shared-memory plan ----------------------------------------------------------------------------------
struct Smem {
  half *sQ, *sK, *sV;  // [D / 64][M][64], [SLOTS][D / 64][N][64] twice, swizzled; sQ takes the output at the end
  ptx::MBarrier *q_full, *full, *empty;  // of sQ; of each slot
};

template <class T, class Cursor>
__host__ __device__ Smem carve(Cursor& cursor) {
  Smem smem;
  smem.sQ = cursor.template array<half, SWIZZLE_ALIGN>("sQ", T::M * T::D / SLAB, SLAB);
  smem.sK = cursor.template array<half, SWIZZLE_ALIGN>("sK", T::SLOTS * T::N * T::D / SLAB, SLAB);
  smem.sV = cursor.template array<half, SWIZZLE_ALIGN>("sV", T::SLOTS * T::N * T::D / SLAB, SLAB);
  smem.q_full = cursor.template array<ptx::MBarrier>("q_full", 1, 1);
  smem.full = cursor.template array<ptx::MBarrier>("full", T::SLOTS, 1);
  smem.empty = cursor.template array<ptx::MBarrier>("empty", T::SLOTS, 1);
  return smem;
}

template <int D, int ROWS>
__global__ void __launch_bounds__(THREADS, 2)
    attention(const __grid_constant__ TensorMap q, const __grid_constant__ TensorMap k,
              const __grid_constant__ TensorMap v, half* __restrict__ out, int H, int S, float scale, bool causal) {
  using T = Tile<D, ROWS>;
  constexpr int M = T::M, N = T::N, SLOTS = T::SLOTS, STRIPES = T::STRIPES;
  AlignedSmemCursor cursor;
  const Smem smem = carve<T>(cursor);

  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int q0 = blockIdx.x * M;  // first query row of this block
  const int head = blockIdx.z * H + blockIdx.y;
  out += std::size_t(head) * S * D;
  const int keys = causal ? min(S, q0 + M) : S;  // no row of this block sees a later key
  const int tiles = ceil_div(keys, N);
  const int quad_row = lane / 4, first_column = lane % 4 * 2;  // the lane's, in each 8x8 of the accumulator

  // --- Prologue: the barriers, Q and the first tiles on their way, an empty running softmax ------------------
  const auto request = [&](int t) {  // by one thread: tile t of K and V, into its slot
    const int slot = t % SLOTS;
    ptx::mbarrier_arrive_expect_tx(&smem.full[slot], 2 * T::TILE_BYTES);
    ptx::tma_load_4d(smem.sK + slot * N * D, &k, 0, t * N, 0, head, &smem.full[slot]);
    ptx::tma_load_4d(smem.sV + slot * N * D, &v, 0, t * N, 0, head, &smem.full[slot]);
  };
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(smem.q_full, 1);
    for (int slot = 0; slot < SLOTS; ++slot)
      ptx::mbarrier_init(&smem.full[slot], 1), ptx::mbarrier_init(&smem.empty[slot], WARPS);
    ptx::fence_mbarrier_init();
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    ptx::mbarrier_arrive_expect_tx(smem.q_full, T::Q_BYTES);
    ptx::tma_load_4d(smem.sQ, &q, 0, q0, 0, head, smem.q_full);
    for (int t = 0; t < min(SLOTS - 1, tiles); ++t) request(t);
  }
  const float scale_log2 = exp2_unit(scale);  // exp(scale s - m) is 2^(scale_log2 s - base) if Q has the sign of scale
  const int first_row = warp * T::ROWS_PER_WARP;
  const auto load_q = [&, sign = sign_bits(scale)](unsigned(&a)[4], int i, int kk) {  // stripe i, columns 16 kk ..
    ptx::ldmatrix_x4(a, &smem.sQ[swizzled<M>(first_row + i * STRIPE + lane % 16, 16 * kk + lane / 16 * 8)]);
    for (unsigned& pair : a) pair ^= sign;
  };
  ptx::mbarrier_wait(smem.q_full, 0);
  unsigned a_q[STRIPES][T::KEEPS_Q ? D / 16 : 1][4];
  for (int i = 0; i < STRIPES; ++i)
    for (int kk = 0; kk < D / 16 && T::KEEPS_Q; ++kk) load_q(a_q[i][kk], i, kk);
  float o[STRIPES][D / 8][4] = {};  // O by 8 columns: [..][2 h], [..][2 h + 1] of the stripe's row quad_row + 8 h
  float row_max[STRIPES][2], row_sum[STRIPES][2];  // of s; row_sum: the lane's own columns only
  for (int i = 0; i < STRIPES; ++i)
    for (int h = 0; h < 2; ++h) row_max[i][h] = -INFINITY, row_sum[i][h] = 0.0f;

  // --- Mainloop: one K/V tile at a time --------------------------------------------------------------------
  for (int t = 0; t < tiles; ++t) {
    // The slot of tile t - 1 is next to be filled, once all warps are done with it. Parity 1 passes on a fresh barrier.
    if (const int next = t + SLOTS - 1; threadIdx.x == 0 && next < tiles) {
      ptx::mbarrier_wait(&smem.empty[next % SLOTS], next / SLOTS % 2 ^ 1);
      ptx::fence_proxy_async();  // ldmatrix has read the slot by a different proxy than the copy engine's
      request(next);
    }
    ptx::mbarrier_wait(&smem.full[t % SLOTS], t / SLOTS % 2);
    const half *sK = smem.sK + t % SLOTS * N * D, *sV = smem.sV + t % SLOTS * N * D;
    // Scores: 16 keys and 16 columns at a time, for all stripes of the warp.
    float s[STRIPES][N / 8][4] = {};
#pragma unroll(T::KEEPS_Q ? D / 16 : 4)  // all 8 steps would take more than 255 registers
    for (int kk = 0; kk < D / 16; ++kk) {
      for (int i = 0; i < STRIPES && !T::KEEPS_Q; ++i) load_q(a_q[i][0], i, kk);
      for (int n = 0; n < N; n += 16) {
        unsigned b0[2], b1[2];
        ptx::ldmatrix_x4(b0, b1, &sK[swizzled<N>(n + lane % 8 + lane / 16 * 8, 16 * kk + lane / 8 % 2 * 8)]);
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
        ptx::ldmatrix_x4_trans(b0, b1, &sV[swizzled<N>(n + lane % 16, d + lane / 16 * 8)]);
        for (int i = 0; i < STRIPES; ++i) mma_pair(o[i], d / 8, p[i][n / 16], b0, b1);
      }
    __syncwarp();
    if (lane == 0) ptx::mbarrier_arrive(&smem.empty[t % SLOTS]);
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
        store2(&smem.sQ[swizzled<M>(r, 8 * d + first_column)], o[i][d][2 * h] * norm, o[i][d][2 * h + 1] * norm);
    }
  __syncwarp();  // and leaves by 16 bytes per lane
  store_rows<T::ROWS_PER_WARP, D, swizzled<M>>(out, smem.sQ, first_row, q0, S, lane);
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
    return launch_attention_tma(named_kernel<T::D, T::ROWS_PER_WARP>(attention<T::D, T::ROWS_PER_WARP>), plan, args);
  }
};

}  // namespace

const lab::StageInfo& lab::stage() {
  return stage_of<Launcher<Tile<64, 16>>, Launcher<Tile<64, 32>>, Launcher<Tile<128, 16>>, Launcher<Tile<128, 32>>>();
}
