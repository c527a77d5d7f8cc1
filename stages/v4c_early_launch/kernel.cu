// V4c: the next launch starts before this one has ended. Between two kernels of a stream lies most of a microsecond:
// the last blocks end, their stores become visible, and only then the next grid starts, reads its parameters and
// initialises barriers. With programmatic dependent launch the next grid may start as soon as all blocks of this one
// allow it, and does all that while they end. Before it reads or writes global memory, it waits until this grid has
// ended. Four slots at D = 64, so that one block fills a multiprocessor: two blocks of the next grid must not share one
// that has room.
//
//   barriers, tensor maps;  wait for the grid before;  ask for Q, K, V;  let the next grid start;  then as V4b
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "common/attention_tma.cuh"
#include "common/block_order.cuh"
#include "common/exp2_scale.cuh"
#include "common/half_pair.cuh"
#include "common/hopper/descriptors.cuh"
#include "common/hopper/hide_after.cuh"
#include "common/hopper/quad_store.cuh"
#include "common/hopper/ring.cuh"
#include "common/hopper/scale_sign.cuh"
#include "common/ptx/cluster.cuh"
#include "common/ptx/grid_dependency.cuh"
#include "common/ptx/mbarrier.cuh"
#include "common/ptx/rcp.cuh"
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
constexpr int STRIPE = 16;  // rows of a tensor core's tile

// PARTS blocks share a query tile.
template <int D_, int PARTS_>
struct Tile {
  static constexpr int D = D_, PARTS = PARTS_;
  static constexpr int SLOTS = 4, BLOCKS = 1;                              // blocks per SM
  static constexpr int ROWS_PER_WARP = STRIPE, M = WARPS * STRIPE;         // query rows per block
  static constexpr int N = D == 64 ? 128 : 64, AT_ONCE = D == 64 ? 2 : 4;  // keys per tile, and tiles
  static constexpr int HELD = D / 2, FINISHED = HELD / PARTS;  // floats of O that a thread has, and that it finishes
  __host__ __device__ static constexpr unsigned partial_bytes() {
    return (THREADS * FINISHED + THREADS / 4 * 4) * sizeof(float);
  }
  static constexpr unsigned Q_BYTES = M * D * sizeof(half), TILE_BYTES = N * D * sizeof(half);
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
  const int head = blockIdx.z * H + blockIdx.y;
  const int q0 = (gridDim.x - 1 - blockIdx.x) / PARTS * M;  // first query row of this block
  out += std::size_t(head) * S * D;
  const int keys = causal ? min(S, q0 + M) : S;  // no row of the query tile sees a later key
  const int all_tiles = ceil_div(keys, N);
  const int first = ceil_div(all_tiles * rank, PARTS);  // this block's tiles: perhaps none
  const int tiles = ceil_div(all_tiles * (rank + 1), PARTS) - first;

  // --- Prologue: the barriers, Q and the first tiles on their way, an empty running softmax ------------------
  const Ring<SLOTS> ring;  // of K and of V
  // By one thread: tile t into its slot.
  const auto request = [&](const TensorMap& map, half* to, ptx::MBarrier* full, int t) {
    const auto slot = ring.slot(t);
    if (t >= tiles) return;
    ptx::mbarrier_arrive_expect_tx(&full[slot], T::TILE_BYTES);
    ptx::tma_load_4d(to + slot * N * D, &map, 0, (first + t) * N, 0, head, &full[slot]);
  };
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(smem.q_full, 1);
    for (int slot = 0; slot < SLOTS; ++slot)
      ptx::mbarrier_init(&smem.k_full[slot], 1), ptx::mbarrier_init(&smem.v_full[slot], 1);
    ptx::fence_mbarrier_init();
    ptx::prefetch_tensor_map(&q), ptx::prefetch_tensor_map(&k), ptx::prefetch_tensor_map(&v);
    ptx::grid_dependency_wait();
    ptx::mbarrier_arrive_expect_tx(smem.q_full, T::Q_BYTES);
    ptx::tma_load_4d(smem.sQ, &q, 0, q0, 0, head, smem.q_full);
    for (int t = 0; t < SLOTS; ++t) request(k, smem.sK, smem.k_full, t);  // before V: it is needed first
    for (int t = 0; t < SLOTS; ++t) request(v, smem.sV, smem.v_full, t);
  }
  if (threadIdx.x == 32) {
    for (int slot = 0; slot < SLOTS; ++slot)
      ptx::mbarrier_init(&smem.k_empty[slot], WARPS), ptx::mbarrier_init(&smem.v_empty[slot], WARPS);
    if constexpr (PARTS > 1) ptx::mbarrier_init(smem.merged, 1);
    ptx::fence_mbarrier_init();
    if constexpr (PARTS > 1) ptx::mbarrier_arrive_expect_tx(smem.merged, T::partial_bytes());
  }
  __syncwarp();
  ptx::launch_dependents();
  if constexpr (PARTS > 1) ptx::cluster_arrive_relaxed();  // waited for before the first access to the other's memory
  __syncthreads();
  const Exp2Scale scale_log2 = exp2_scale(scale);
  ptx::mbarrier_wait(smem.q_full, 0);
  if (scale < 0) {
    flip_signs<M * D, THREADS>(smem.sQ);
    ptx::fence_proxy_async();  // wgmma reads by another proxy
    __syncthreads();
  }
  // The m64nN accumulator layout: of row quad_row, columns 8 i + first_column and the next in [4 i] and [4 i + 1]; of
  // + 2], [4 i + 3]. A tile's s holds scores, later weights, with keys for columns; p the weights as halves, 16 keys in
  // [n].
  float o[D / 2] = {};
  float row_max[2] = {-INFINITY, -INFINITY};  // the score that p is relative to
  float factor[2], base[2];                   // p = 2^(factor s - base)
  float row_sum[2] = {};                      // the lane's own columns' part of it
  const ptx::Descriptor q_at = k_major_descriptor(smem.sQ);
  const ptx::Descriptor k_at = k_major_descriptor(smem.sK);
  const ptx::Descriptor v_at = mn_major_descriptor<N>(smem.sV);
  const auto begin_qk = [&](float(&s)[N / 2], int t) {
    ptx::mbarrier_wait(&smem.k_full[ring.slot(t)], ring.parity(t));
    const ptx::Descriptor slot = ptx::advance(k_at, ring.slot(t) * T::TILE_BYTES);
    ptx::wgmma_fence();
#pragma unroll
    for (int kk = 0; kk < D / 16; ++kk) ptx::wgmma<N>(s, advance_k<M>(q_at, kk), advance_k<N>(slot, kk), kk > 0);
    ptx::wgmma_commit();
  };
  const auto begin_pv = [&](const unsigned(&p)[N / 16][4], int t) {
    ptx::mbarrier_wait(&smem.v_full[ring.slot(t)], ring.parity(t));
    const ptx::Descriptor slot = ptx::advance(v_at, ring.slot(t) * T::TILE_BYTES);
    ptx::wgmma_fence();
#pragma unroll
    for (int n = 0; n < N / 16; ++n) ptx::wgmma<D, true>(o, p[n], advance_keys(slot, n), true);
    ptx::wgmma_commit();
  };
  const int first_row = warp * T::ROWS_PER_WARP;
  // The last key that each of the lane's rows sees.
  const int last_key[2] = {min(q0 + first_row + quad_row + (causal ? 0 : S), S - 1),
                           min(q0 + first_row + quad_row + 8 + (causal ? 0 : S), S - 1)};
  // Hidden keys' scores of tile t become -inf.
  const auto mask = [&](float(&s)[N / 2], int t) {
    const int key = (first + t) * N;
    // Only a tile on the diagonal or at the end of the keys has anything to hide.
    if (key + N <= S && (!causal || key + N <= q0 + first_row + 1)) return;
#pragma unroll
    for (int h = 0; h < 2; ++h) hide_after(s, h, last_key[h] - key - first_column);
  };
  // The lane's own columns' part of the rows' maximum.
  const auto raise = [&](float(&highest)[2], const float(&s)[N / 2]) {
#pragma unroll
    for (int n = 0; n < N / 2; ++n) highest[n / 2 % 2] = fmaxf(highest[n / 2 % 2], s[n]);
  };
  // l and O relative to a maximum that takes these scores in.
  const auto new_reference = [&](const float(&highest)[2]) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const float old_max = row_max[h];
      row_max[h] = fmaxf(old_max, quad_max(highest[h]));
      scale_log2.relative_to(row_max[h], factor[h], base[h]);
      const float rescale = ptx::ex2(old_max * factor[h] - base[h]);
      row_sum[h] *= rescale;
#pragma unroll
      for (int d = 0; d < D / 8; ++d) o[4 * d + 2 * h] *= rescale, o[4 * d + 2 * h + 1] *= rescale;
    }
  };
  // s becomes 2^(s - n), and is added up.
  const auto weights = [&](float(&s)[N / 2]) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      float sum = 0.0f;
#pragma unroll
      for (int n = 0; n < N / 8; ++n) {
        float &p0 = s[4 * n + 2 * h], &p1 = s[4 * n + 2 * h + 1];
        p0 = ptx::ex2(fmaf(p0, factor[h], -base[h])), p1 = ptx::ex2(fmaf(p1, factor[h], -base[h]));
        sum += p0 + p1;
      }
      row_sum[h] += sum;
    }
  };
  const auto pack = [&](unsigned(&p)[N / 16][4], const float(&s)[N / 2]) {
#pragma unroll
    for (int n = 0; n < N / 4; ++n) p[n / 4][n % 4] = half_pair(s[2 * n], s[2 * n + 1]);
  };
  // All of tile t has been read: it may be overwritten.
  const auto refill = [&](int t) {
    const auto slot = ring.slot(t);
    if (t + SLOTS >= tiles) return;
    if (lane == 0) ptx::mbarrier_arrive(&smem.k_empty[slot]), ptx::mbarrier_arrive(&smem.v_empty[slot]);
    if (threadIdx.x == 0) {
      ptx::mbarrier_wait(&smem.k_empty[slot], ring.parity(t));
      request(k, smem.sK, smem.k_full, t + SLOTS);
      ptx::mbarrier_wait(&smem.v_empty[slot], ring.parity(t));
      request(v, smem.sV, smem.v_full, t + SLOTS);
    }
  };

  // --- Mainloop: AT_ONCE tiles under one maximum; the last products are still under way when it ends ---------
  unsigned p[T::AT_ONCE][N / 16][4];  // outlives the loops: the last products read it until the wait in the merge
  const auto wait_for_o = [&] {
    ptx::wgmma_wait<0>();
    ptx::fence_registers(o);
#pragma unroll
    for (auto& of_a_tile : p) ptx::fence_registers(of_a_tile);
  };
  int t = 0;
  while (t + T::AT_ONCE <= tiles) {
    float s[T::AT_ONCE][N / 2], highest[2] = {-INFINITY, -INFINITY};
#pragma unroll
    for (int i = 0; i < T::AT_ONCE; ++i) begin_qk(s[i], t + i);
#pragma unroll
    for (int i = 0; i < T::AT_ONCE; ++i) {
      ptx::wgmma_wait_all_but(T::AT_ONCE - 1 - i);
      ptx::fence_registers(s[i]);
      mask(s[i], t + i);
      raise(highest, s[i]);
    }
    new_reference(highest);
#pragma unroll
    for (int i = 0; i < T::AT_ONCE; ++i) {
      weights(s[i]);
      pack(p[i], s[i]);
      begin_pv(p[i], t + i);
    }
    t += T::AT_ONCE;
    if (t == tiles) break;
    wait_for_o();
#pragma unroll
    for (int i = 0; i < T::AT_ONCE; ++i) refill(t - T::AT_ONCE + i);
  }
  while (t < tiles) {  // fewer than SLOTS tiles: all have been requested
    float s[N / 2], highest[2] = {-INFINITY, -INFINITY};
    begin_qk(s, t);
    ptx::wgmma_wait<0>();
    ptx::fence_registers(s);
    mask(s, t);
    raise(highest, s);
    new_reference(highest);
    weights(s);
    pack(p[0], s);
    begin_pv(p[0], t);
    ++t;
    if (t == tiles) break;
    wait_for_o();
  }

  // --- Merge: block r finishes the columns from r D / 2 on ---------------------------------------------------
  float own[T::FINISHED];
  row_sum[0] = quad_sum(row_sum[0]), row_sum[1] = quad_sum(row_sum[1]);
  if constexpr (PARTS == 1) {
    wait_for_o();
#pragma unroll
    for (int i = 0; i < T::FINISHED; ++i) own[i] = o[i];
  } else {
    ptx::cluster_wait();
    const ptx::RemoteShared others_merged = ptx::mapa(smem.merged, other);
    const auto send = [&](float* to, float a, float b, float c, float d) {
      ptx::st_async(ptx::mapa(to, other), make_float4(a, b, c, d), others_merged);
    };
    wait_for_o();
#pragma unroll
    for (int i = 0; i < T::FINISHED; ++i) own[i] = rank == 0 ? o[i] : o[T::HELD - T::FINISHED + i];
#pragma unroll
    for (int i = 0; i < T::FINISHED; i += 4) {
      float x[4];
#pragma unroll
      for (int e = 0; e < 4; ++e) x[e] = rank == 0 ? o[T::FINISHED + i + e] : o[i + e];
      send(&smem.sO[(i / 4 * THREADS + threadIdx.x) * 4], x[0], x[1], x[2], x[3]);
    }
    float* const rows = &smem.sRows[threadIdx.x / 4 * 4];
    const float reference[2] = {row_max[0] * scale_log2.unit, row_max[1] * scale_log2.unit};
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
    const float norm = D == 64 ? ptx::rcp(row_sum[h]) : 1.0f / row_sum[h];  // each the faster one there, measured
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
    plan.block_of = block_head_by_head;
    return plan;
  }
  static cudaError_t launch(const AttentionArgs& args, const LaunchPlan& plan) {
    return launch_clusters_tma(kernel(), plan, args, true);
  }
  static auto kernel() { return named_kernel<T::D, T::PARTS>(attention<T::D, T::PARTS>); }
};

}  // namespace

const lab::StageInfo& lab::stage() {
  return stage_of<Launcher<Tile<64, 1>>, Launcher<Tile<64, 2>>, Launcher<Tile<128, 1>>, Launcher<Tile<128, 2>>>();
}
