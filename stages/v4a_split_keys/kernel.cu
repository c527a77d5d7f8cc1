// V4a: a row's keys are split. A small problem has fewer query tiles than the GPU has multiprocessors, and each tile is
// a long chain: load, multiply, exponentials, multiply. So two blocks, a cluster, share a query tile. Each computes
// half of the keys with a softmax of its own. At the end both hold the same rows and columns of O in the same threads.
// Each sends the other, thread to thread and into its shared memory, the columns that the other finishes; an mbarrier
// counts the bytes. Where the query tiles fill all multiprocessors, nothing is split.
//
//   block r of two: its K/V tiles as in V3c: m, l, O;  then, from the other, m', l' and half of O'
//                   n = max(m, m'), O = (O 2^(m - n) + O' 2^(m' - n)) / (l 2^(m - n) + l' 2^(m' - n))
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "common/attention_tma.cuh"
#include "common/block_order.cuh"
#include "common/exp2_scale.cuh"
#include "common/half_pair.cuh"
#include "common/hopper/descriptors.cuh"
#include "common/hopper/lazy_reference.cuh"
#include "common/hopper/mask.cuh"
#include "common/hopper/quad_store.cuh"
#include "common/hopper/ring.cuh"
#include "common/hopper/scale_sign.cuh"
#include "common/hopper/score_by_warp.cuh"
#include "common/ptx/cluster.cuh"
#include "common/ptx/mbarrier.cuh"
#include "common/ptx/tma.cuh"
#include "common/ptx/wgmma.cuh"
#include "common/smem_plan.cuh"
#include "common/tile.cuh"
#include "common/warp.cuh"

namespace {
using namespace lab;

// --- tile constants --------------------------------------------------------------------------------------
constexpr int WARPS = 4;
constexpr int THREADS = WARPS * 32;
constexpr int STRIPE = 16;               // rows of a tensor core's tile
constexpr float LARGEST_SUM = 32768.0f;  // of a lane's weights of a tile: then each of them fits into a half
constexpr float LARGEST_FINITE = 1e30f;  // of the same: then a quad's sum is finite

// PARTS blocks share a query tile.
template <int D_, int PARTS_>
struct Tile {
  static constexpr int D = D_, PARTS = PARTS_;
  static constexpr int SLOTS = 4, BLOCKS = D == 64 ? 2 : 1;         // blocks per SM
  static constexpr int ROWS_PER_WARP = STRIPE, M = WARPS * STRIPE;  // query rows per block
  static constexpr int N = 64;                                      // keys per tile
  static constexpr int HELD = D / 2, FINISHED = HELD / PARTS;  // floats of O that a thread has, and that it finishes
  __host__ __device__ static constexpr unsigned partial_bytes() {
    return (THREADS * FINISHED + THREADS / 4 * 4) * sizeof(float);
  }
  static constexpr unsigned Q_BYTES = M * D * sizeof(half), TILE_BYTES = N * D * sizeof(half);
  static constexpr double L2_SHARE = 32e6;  // bytes of an H200's L2 that K and V may fill
};

// --- shared-memory plan ----------------------------------------------------------------------------------
struct Smem {
  half *sQ, *sK, *sV;  // [D / 64][M][64], [SLOTS][D / 64][N][64] twice, swizzled
  // From the other block, for each thread and each quad: [FINISHED / 4][THREADS][4] of O, [THREADS / 4][4]: m and l of
  // two rows.
  float *sO, *sRows;
  ptx::MBarrier *q_full, *k_full, *k_empty, *v_full, *v_empty, *merged;  // of sQ; of each slot; of sO and sRows
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
  if constexpr (T::PARTS > 1) {
    smem.sO = cursor.template array<float, 16>("sO", T::FINISHED / 4 * THREADS, 4);
    smem.sRows = cursor.template array<float, 16>("sRows", THREADS / 4, 4);
    smem.merged = cursor.template array<ptx::MBarrier>("merged", 1, 1);
  }
  return smem;
}

template <int D, int PARTS>
__global__ void __launch_bounds__(THREADS, Tile<D, PARTS>::BLOCKS)
    attention(const __grid_constant__ TensorMap q, const __grid_constant__ TensorMap k,
              const __grid_constant__ TensorMap v, half* __restrict__ out, int H, int S, float scale, bool causal) {
  using T = Tile<D, PARTS>;
  constexpr int M = T::M, N = T::N, SLOTS = T::SLOTS;
  AlignedSmemCursor cursor;
  const Smem smem = carve<T>(cursor);

  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int quad_row = lane / 4, first_column = lane % 4 * 2;  // the lane's, in each 8x8 of the accumulator
  const int rank = PARTS > 1 ? int(ptx::cluster_rank()) : 0;   // of this block in its cluster
  const int other = PARTS - 1 - rank;
  const BlockWork work = cluster_work(PARTS, H, over_all_heads<T>(causal, S, H * gridDim.z));
  const int q0 = work.tile * M;  // first query row of this block
  out += std::size_t(work.head) * S * D;
  const int keys = causal ? min(S, q0 + M) : S;  // no row of the query tile sees a later key
  const int all_tiles = ceil_div(keys, N);
  const int first = ceil_div(all_tiles * rank, PARTS);  // this block's tiles: perhaps none
  const int tiles = ceil_div(all_tiles * (rank + 1), PARTS) - first;

  // --- Prologue: the barriers, Q and the first tiles on their way, an empty running softmax ------------------
  const Ring<SLOTS> ring;  // of K and of V
  // By one thread: tile t into its slot, once all warps are done with the one before. Parity 1 passes on a fresh
  // barrier.
  const auto request = [&](const TensorMap& map, half* to, ptx::MBarrier* full, ptx::MBarrier* empty, int t) {
    const auto slot = ring.slot(t);
    if (t >= tiles) return;
    ptx::mbarrier_wait(&empty[slot], ring.parity(t) ^ 1);
    ptx::mbarrier_arrive_expect_tx(&full[slot], T::TILE_BYTES);
    ptx::tma_load_4d(to + slot * N * D, &map, 0, (first + t) * N, 0, work.head, &full[slot]);
  };
  const auto request_k = [&](int t) { request(k, smem.sK, smem.k_full, smem.k_empty, t); };
  const auto request_v = [&](int t) { request(v, smem.sV, smem.v_full, smem.v_empty, t); };
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(smem.q_full, 1);
    for (int slot = 0; slot < SLOTS; ++slot) {
      ptx::mbarrier_init(&smem.k_full[slot], 1), ptx::mbarrier_init(&smem.k_empty[slot], WARPS);
      ptx::mbarrier_init(&smem.v_full[slot], 1), ptx::mbarrier_init(&smem.v_empty[slot], WARPS);
    }
    if constexpr (PARTS > 1) ptx::mbarrier_init(smem.merged, 1);
    ptx::fence_mbarrier_init();
    if constexpr (PARTS > 1) ptx::mbarrier_arrive_expect_tx(smem.merged, T::partial_bytes());
  }
  if constexpr (PARTS > 1) ptx::cluster_arrive();  // waited for before the first access to the other's memory
  __syncthreads();
  if (threadIdx.x == 0) {
    ptx::mbarrier_arrive_expect_tx(smem.q_full, T::Q_BYTES);
    ptx::tma_load_4d(smem.sQ, &q, 0, q0, 0, work.head, smem.q_full);
    request_k(0);
    for (int t = 1; t < SLOTS - 1; ++t) request_k(t), request_v(t - 1);
  }
  const Exp2Scale scale_log2 = exp2_scale(scale);
  const float unit[2] = {scale_log2.unit, scale_log2.unit};  // of both rows of a lane
  ptx::mbarrier_wait(smem.q_full, 0);
  if (scale < 0) {
    flip_signs<M * D, THREADS>(smem.sQ);
    ptx::fence_proxy_async();  // wgmma reads by another proxy
    __syncthreads();
  }
  // The m64nN accumulator layout: of row quad_row, columns 8 i + first_column and the next in [4 i] and [4 i + 1]; of
  // row quad_row + 8 in [4 i + 2], [4 i + 3]. s: scores, then weights, a key per column; p: as halves, 16 keys in [n].
  float s[N / 2], o[D / 2] = {};
  unsigned p[N / 16][4];
  float row_max[2] = {-INFINITY, -INFINITY};    // the score that p is relative to
  float reference[2] = {-INFINITY, -INFINITY};  // row_max times unit
  float row_sum[2] = {};                        // the lane's own columns' part of it
  const ptx::Descriptor q_at = k_major_descriptor(smem.sQ);
  const ptx::Descriptor k_at = k_major_descriptor(smem.sK);
  const ptx::Descriptor v_at = mn_major_descriptor<N>(smem.sV);
  const auto begin_qk = [&](int t) {
    ptx::mbarrier_wait(&smem.k_full[ring.slot(t)], ring.parity(t));
    const ptx::Descriptor slot = ptx::advance(k_at, ring.slot(t) * T::TILE_BYTES);
    ptx::wgmma_fence();
#pragma unroll
    for (int kk = 0; kk < D / 16; ++kk) ptx::wgmma<N>(s, advance_k<M>(q_at, kk), advance_k<N>(slot, kk), kk > 0);
    ptx::wgmma_commit();
  };
  const auto begin_pv = [&](int t) {
    ptx::mbarrier_wait(&smem.v_full[ring.slot(t)], ring.parity(t));
    const ptx::Descriptor slot = ptx::advance(v_at, ring.slot(t) * T::TILE_BYTES);
    ptx::wgmma_fence();
#pragma unroll
    for (int n = 0; n < N / 16; ++n) ptx::wgmma<D, true>(o, p[n], advance_keys(slot, n), true);
    ptx::wgmma_commit();
  };
  const int first_row = warp * T::ROWS_PER_WARP;

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

    // Only a tile on the diagonal or at the end of the keys has anything to hide.
    const auto hide = [&] {
      const int key = (first + t) * N;
      if (key + N > S || (causal && key + N > q0 + first_row + 1))
        hide_keys(s, q0 + first_row + quad_row, key, first_column, S, causal);
    };

    float sum[2] = {};

    // A row without a visible key yet has the reference -inf: its weights are infinite or NaN, and fail both checks.
    hide();
    if (t > 0) weigh(s, sum, unit, reference);
    const bool fits = t > 0 && sum[0] <= LARGEST_SUM && sum[1] <= LARGEST_SUM;
    const bool finite = t > 0 && sum[0] <= LARGEST_FINITE && sum[1] <= LARGEST_FINITE;
    ptx::wgmma_wait<0>();
    ptx::fence_registers(o), ptx::fence_registers(p);
    if (t > 0 && lane == 0) ptx::mbarrier_arrive(&smem.v_empty[ring.slot(t - 1)]);
    if (!__all_sync(FULL_WARP, fits)) {
      if (__all_sync(FULL_WARP, finite)) {
        raise_reference(scale_log2, s, o, row_max, row_sum, reference, sum);
      } else {
        if (t > 0) score_by_warp<M, N, D>(s, smem.sQ, smem.sK + ring.slot(t) * N * D, first_row, lane), hide();
        weigh_anew(scale_log2, s, o, row_max, row_sum, reference, sum);
      }
    }
    row_sum[0] += sum[0], row_sum[1] += sum[1];

#pragma unroll
    for (int i = 0; i < N / 4; ++i) p[i / 4][i % 4] = half_pair(s[2 * i], s[2 * i + 1]);
    if (lane == 0) ptx::mbarrier_arrive(&smem.k_empty[ring.slot(t)]);
  }
  if (tiles > 0) begin_pv(tiles - 1);
  ptx::wgmma_wait<0>();
  ptx::fence_registers(o), ptx::fence_registers(p);

  // --- Merge: block r finishes the columns from r D / 2 on ---------------------------------------------------
  float own[T::FINISHED];
  row_sum[0] = quad_sum(row_sum[0]), row_sum[1] = quad_sum(row_sum[1]);
#pragma unroll
  for (int i = 0; i < T::FINISHED; ++i) own[i] = rank == 0 ? o[i] : o[T::HELD - T::FINISHED + i];
  if constexpr (PARTS > 1) {
    ptx::cluster_wait();
    const ptx::RemoteShared others_merged = ptx::mapa(smem.merged, other);
    const auto send = [&](float* to, float a, float b, float c, float d) {
      ptx::st_async(ptx::mapa(to, other), make_float4(a, b, c, d), others_merged);
    };
#pragma unroll
    for (int i = 0; i < T::FINISHED; i += 4) {
      float x[4];
#pragma unroll
      for (int e = 0; e < 4; ++e) x[e] = rank == 0 ? o[T::FINISHED + i + e] : o[i + e];
      send(&smem.sO[(i / 4 * THREADS + threadIdx.x) * 4], x[0], x[1], x[2], x[3]);
    }
    for (int h = 0; h < 2; ++h) reference[h] = row_max[h] * scale_log2.unit;  // a huge row has -inf there
    float* const rows = &smem.sRows[threadIdx.x / 4 * 4];
    if (first_column == 0) send(rows, reference[0], row_sum[0], reference[1], row_sum[1]);
    ptx::mbarrier_wait_cluster(smem.merged, 0);
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const float both = fmaxf(reference[h], rows[2 * h]);
      const float ours = ptx::ex2(reference[h] - both), theirs = ptx::ex2(rows[2 * h] - both);
      row_sum[h] = fmaf(row_sum[h], ours, rows[2 * h + 1] * theirs);
#pragma unroll
      for (int i = 2 * h; i < T::FINISHED; i += 4) {
        const float2 x = *reinterpret_cast<const float2*>(&smem.sO[(i / 4 * THREADS + threadIdx.x) * 4 + 2 * h]);
        own[i] = fmaf(own[i], ours, x.x * theirs), own[i + 1] = fmaf(own[i + 1], ours, x.y * theirs);
      }
    }
  }

  // --- Epilogue: normalise, round to fp16, store -------------------------------------------------------------
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const float norm = 1.0f / row_sum[h];
    const int row = q0 + first_row + quad_row + 8 * h;
    store_row(out + std::size_t(row) * D + rank * (D / PARTS), row, S, own, h, norm, lane);
  }
}

// --- launcher --------------------------------------------------------------------------------------------
// A query tile is split where every block then has a multiprocessor of its own.
int parts(const Shape& shape) { return 2 * ceil_div(shape.S, 64) * shape.H * shape.B <= multiprocessors() ? 2 : 1; }

template <class T>
struct Launcher {
  static bool takes(const Shape& shape) { return shape.D == T::D && parts(shape) == T::PARTS; }
  static LaunchPlan plan(const Shape& shape) {
    SmemCount smem;
    carve<T>(smem);
    LaunchPlan plan = tile_plan<T>(shape, THREADS, smem);
    plan.half_p = plan.counts_multiprocessors = true;
    plan.parts = T::PARTS;
    plan.kernel = kernel().name;
    plan.block_of =
        over_all_heads<T>(shape.causal, shape.S, shape.B * shape.H) ? block_over_all_heads : block_head_by_head;
    return plan;
  }
  static cudaError_t launch(const AttentionArgs& args, const LaunchPlan& plan) {
    return launch_clusters_tma(kernel(), plan, args);
  }
  static auto kernel() { return named_kernel<T::D, T::PARTS>(attention<T::D, T::PARTS>); }
};

}  // namespace

const lab::StageInfo& lab::stage() {
  return stage_of<Launcher<Tile<64, 1>>, Launcher<Tile<64, 2>>, Launcher<Tile<128, 1>>, Launcher<Tile<128, 2>>>();
}
