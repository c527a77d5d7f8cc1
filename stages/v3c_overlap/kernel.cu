// V3c: overlap. A wgmma is asynchronous: while a warp computes the weights of tile t, the tensor cores compute O = O +
// P V of tile t - 1, begun right after the scores of tile t. The wait for the scores leaves that product running; the
// wait for O comes after the exponentials. K and V of one tile are now needed at different times, so each has its own
// mbarriers.
//
//   for each K/V tile t:  s = Q K(t) and O = O + p V(t - 1) begin; s is there: m' = max(m, rowmax(s)), a = exp(m - m'),
//                         p' = exp(s - m'), l = l a + sum(p');  O is there: O = O a, p = p';  finally O / l
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "common/attention_tma.cuh"
#include "common/exp2_scale.cuh"
#include "common/half_pair.cuh"
#include "common/hopper/descriptors.cuh"
#include "common/hopper/mask.cuh"
#include "common/hopper/ring.cuh"
#include "common/hopper/scale_sign.cuh"
#include "common/hopper/swizzle.cuh"
#include "common/hopper/weigh_tile.cuh"
#include "common/ptx/mbarrier.cuh"
#include "common/ptx/tma.cuh"
#include "common/ptx/wgmma.cuh"
#include "common/smem_plan.cuh"
#include "common/tile.cuh"
#include "common/tile_store.cuh"
#include "common/warp.cuh"

namespace {
using namespace lab;

// --- tile constants --------------------------------------------------------------------------------------
constexpr int WARPS = 4;
constexpr int THREADS = WARPS * 32;
constexpr int STRIPE = 16;  // rows of a tensor core's tile

template <int D_>
struct Tile {
  static constexpr int D = D_, SLOTS = D == 64 ? 4 : 3, BLOCKS = D == 64 ? 3 : 2;  // blocks per SM
  static constexpr int ROWS_PER_WARP = STRIPE;
  static constexpr int M = WARPS * ROWS_PER_WARP;  // query rows per block
  static constexpr int N = 64;                     // keys per tile
  static constexpr unsigned Q_BYTES = M * D * sizeof(half), TILE_BYTES = N * D * sizeof(half);
};

// --- shared-memory plan ----------------------------------------------------------------------------------
struct Smem {
  half *sQ, *sK, *sV;  // [D / 64][M][64], [SLOTS][D / 64][N][64] twice, swizzled; sQ takes the output at the end
  ptx::MBarrier *q_full, *k_full, *k_empty, *v_full, *v_empty;  // of sQ; of each slot
};

template <class T, class Cursor>
__host__ __device__ Smem carve(Cursor& cursor) {
  Smem smem;
  smem.sQ = cursor.template array<half, SWIZZLE_ALIGN>("sQ", T::M * T::D / SLAB, SLAB);
  smem.sK = cursor.template array<half, SWIZZLE_ALIGN>("sK", T::SLOTS * T::N * T::D / SLAB, SLAB);
  smem.sV = cursor.template array<half, SWIZZLE_ALIGN>("sV", T::SLOTS * T::N * T::D / SLAB, SLAB);
  smem.q_full = cursor.template array<ptx::MBarrier>("q_full", 1, 1);
  smem.k_full = cursor.template array<ptx::MBarrier>("k_full", T::SLOTS, 1);
  smem.k_empty = cursor.template array<ptx::MBarrier>("k_empty", T::SLOTS, 1);
  smem.v_full = cursor.template array<ptx::MBarrier>("v_full", T::SLOTS, 1);
  smem.v_empty = cursor.template array<ptx::MBarrier>("v_empty", T::SLOTS, 1);
  return smem;
}

template <int D>
__global__ void __launch_bounds__(THREADS, Tile<D>::BLOCKS)
    attention(const __grid_constant__ TensorMap q, const __grid_constant__ TensorMap k,
              const __grid_constant__ TensorMap v, half* __restrict__ out, int H, int S, float scale, bool causal) {
  using T = Tile<D>;
  constexpr int M = T::M, N = T::N, SLOTS = T::SLOTS;
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
  const Ring<SLOTS> ring;  // of K and of V
  // By one thread: tile t into its slot, once all warps are done with the tile before. Parity 1 passes a fresh barrier.
  const auto request = [&](const TensorMap& map, half* to, ptx::MBarrier* full, ptx::MBarrier* empty, int t) {
    const auto slot = ring.slot(t);
    if (t >= tiles) return;
    ptx::mbarrier_wait(&empty[slot], ring.parity(t) ^ 1);
    ptx::mbarrier_arrive_expect_tx(&full[slot], T::TILE_BYTES);
    ptx::tma_load_4d(to + slot * N * D, &map, 0, t * N, 0, head, &full[slot]);
  };
  const auto request_k = [&](int t) { request(k, smem.sK, smem.k_full, smem.k_empty, t); };
  const auto request_v = [&](int t) { request(v, smem.sV, smem.v_full, smem.v_empty, t); };
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(smem.q_full, 1);
    for (int slot = 0; slot < SLOTS; ++slot) {
      ptx::mbarrier_init(&smem.k_full[slot], 1), ptx::mbarrier_init(&smem.k_empty[slot], WARPS);
      ptx::mbarrier_init(&smem.v_full[slot], 1), ptx::mbarrier_init(&smem.v_empty[slot], WARPS);
    }
    ptx::fence_mbarrier_init();
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    ptx::mbarrier_arrive_expect_tx(smem.q_full, T::Q_BYTES);
    ptx::tma_load_4d(smem.sQ, &q, 0, q0, 0, head, smem.q_full);
    request_k(0);
    for (int t = 1; t < SLOTS - 1; ++t) request_k(t), request_v(t - 1);
  }
  const float scale_log2 = exp2_unit(scale);  // exp(scale s - m) is 2^(scale_log2 s - base) if Q has the sign of scale
  const int first_row = warp * T::ROWS_PER_WARP;
  ptx::mbarrier_wait(smem.q_full, 0);
  if (scale < 0) {
    flip_signs<M * D, THREADS>(smem.sQ);
    ptx::fence_proxy_async();  // wgmma reads by another proxy
    __syncthreads();
  }
  // The m64nN accumulator layout: of the warp's row quad_row, columns 8 i + first_column and the next in [4 i] and
  // [4 i + 1]; of row quad_row + 8 in [4 i + 2] and [4 i + 3].
  float s[N / 2], o[D / 2] = {};  // scores, then weights, [64 rows][N keys]; O [64 rows][D columns]
  unsigned p[N / 16][4];          // weights as halves: A operands of 16 keys each
  float row_max[2] = {-INFINITY, -INFINITY}, row_sum[2] = {};  // of s; row_sum: the lane's own columns only
  const ptx::Descriptor q_at = k_major_descriptor(smem.sQ);
  const ptx::Descriptor k_at = k_major_descriptor(smem.sK);
  const ptx::Descriptor v_at = mn_major_descriptor<N>(smem.sV);
  const auto begin_qk = [&](int t) {  // s = Q K^T: A [64][D] and B [D][N], both K-major, from shared memory
    ptx::mbarrier_wait(&smem.k_full[ring.slot(t)], ring.parity(t));
    const ptx::Descriptor slot = ptx::advance(k_at, ring.slot(t) * T::TILE_BYTES);
    ptx::wgmma_fence();
#pragma unroll
    for (int kk = 0; kk < D / 16; ++kk) ptx::wgmma<N>(s, advance_k<M>(q_at, kk), advance_k<N>(slot, kk), kk > 0);
    ptx::wgmma_commit();
  };
  const auto begin_pv = [&](int t) {  // o += P V: A [64][N] from registers, B [N][D] MN-major
    ptx::mbarrier_wait(&smem.v_full[ring.slot(t)], ring.parity(t));
    const ptx::Descriptor slot = ptx::advance(v_at, ring.slot(t) * T::TILE_BYTES);
    ptx::wgmma_fence();
#pragma unroll
    for (int n = 0; n < N / 16; ++n) ptx::wgmma<D, true>(o, p[n], advance_keys(slot, n), true);
    ptx::wgmma_commit();
  };

  // --- Mainloop: one K/V tile at a time --------------------------------------------------------------------
  for (int t = 0; t < tiles; ++t) {
    if (threadIdx.x == 0) request_k(t + SLOTS - 1), request_v(t + SLOTS - 2);
    begin_qk(t);
    if (t > 0)
      begin_pv(t - 1);
    else
      ptx::wgmma_fence(), ptx::wgmma_commit();  // of nothing: the wait counts groups
    ptx::wgmma_wait<1>();
    ptx::fence_registers(s);
    if (lane == 0) ptx::mbarrier_arrive(&smem.k_empty[ring.slot(t)]);

    // Only a tile on the diagonal or at the end of the keys has anything to hide.
    if ((t + 1) * N > S || (causal && (t + 1) * N > q0 + first_row + 1))
      hide_keys(s, q0 + first_row + quad_row, t * N, first_column, S, causal);

    // Online softmax: the row's new maximum, and what it does to everything summed so far. The condition always holds:
    // behind a branch ptxas leaves the wait for O where it is, and else moves it in front of the exponentials.
    float rescale[2] = {};
    if (q0 < S) weigh_tile(s, scale_log2, row_max, row_sum, rescale);

    ptx::wgmma_wait<0>();
    ptx::fence_registers(o), ptx::fence_registers(p);
    if (t > 0 && lane == 0) ptx::mbarrier_arrive(&smem.v_empty[ring.slot(t - 1)]);
#pragma unroll
    for (int i = 0; i < D / 2; ++i) o[i] *= rescale[i / 2 % 2];
#pragma unroll
    for (int i = 0; i < N / 4; ++i) p[i / 4][i % 4] = half_pair(s[2 * i], s[2 * i + 1]);
  }
  begin_pv(tiles - 1);
  ptx::wgmma_wait<0>();
  ptx::fence_registers(o), ptx::fence_registers(p);

  // --- Epilogue: add up the quad's sums, normalise, round to fp16, store -----------------------------------
  __syncthreads();  // the last product with Q is over, and any warp may have read any row: the output takes its place
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const float norm = 1.0f / quad_sum(row_sum[h]);
    const int r = first_row + quad_row + 8 * h;
    for (int d = 0; d < D / 8; ++d)
      store2(&smem.sQ[swizzled<M>(r, 8 * d + first_column)], o[4 * d + 2 * h] * norm, o[4 * d + 2 * h + 1] * norm);
  }
  __syncwarp();  // and leaves by 16 bytes per lane
  store_rows<T::ROWS_PER_WARP, D, swizzled<M>>(out, smem.sQ, first_row, q0, S, lane);
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
    return launch_attention_tma(named_kernel<T::D>(attention<T::D>), plan, args);
  }
};

}  // namespace

const lab::StageInfo& lab::stage() { return stage_of<Launcher<Tile<64>>, Launcher<Tile<128>>>(); }
