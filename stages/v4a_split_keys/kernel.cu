// V4a: a row's keys are split. A small problem has fewer query tiles than the GPU has multiprocessors, and each tile is
// a long chain: load, multiply, exponentials, multiply. So two blocks, a cluster, share a query tile. Each computes
// half of the keys with a softmax of its own. At the end both hold the same rows and columns of O in the same threads.
// Each sends the other, thread to thread and into its shared memory, the columns that the other finishes; an mbarrier
// counts the bytes. Where the query tiles fill all multiprocessors, nothing is split.
//
//   block r of two: its K/V tiles with v3e's overlap and v3g's reference: m, l, O;
//                   then, from the other, m', l' and half of O'
//                   n = max(m, m'), O = (O 2^(m - n) + O' 2^(m' - n)) / (l 2^(m - n) + l' 2^(m' - n))
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cfloat>

#include "common/attention.hpp"
#include "common/block_order.hpp"
#include "common/hopper/head_map.hpp"
#include "common/hopper/lazy_reference.cuh"
#include "common/hopper/quad_store.cuh"
#include "common/ptx/cluster.cuh"
#include "common/ptx/ex2.cuh"
#include "common/ptx/mbarrier.cuh"
#include "common/ptx/tma.cuh"
#include "common/ptx/wgmma.cuh"
#include "common/softmax.cuh"
#include "common/tile.cuh"
#include "common/warp.cuh"

namespace {
using namespace lab;

// --- tile constants --------------------------------------------------------------------------------------
// Of an instance of the kernel: PARTS blocks share a query tile.
constexpr int WARPS = 4;
constexpr int THREADS = WARPS * 32;
constexpr int M = WARPS * 16;            // query rows per block
constexpr int N = 64;                    // keys per tile
constexpr int SLOTS = 4;                 // tiles of K and V in shared memory
constexpr float LARGEST_SUM = 32768.0f;  // of a lane's weights of a tile: then each of them fits into a half
constexpr float LARGEST_FINITE = 1e30f;  // of the same: then a quad's sum is finite
constexpr double L2_SHARE = 32e6;        // bytes of an H200's L2 that K and V may fill

// --- shared memory ---------------------------------------------------------------------------------------
template <int D, int PARTS>
struct Smem {
  static constexpr int FINISHED = D / 8 / PARTS;  // 8-column tiles of O that a block finishes
  static constexpr int SENDERS =
      PARTS > 1 ? THREADS : 4;              // threads of the other block; where there is none, hardly any
  alignas(1024) half Q[D / SLAB][M][SLAB];  // swizzled, as K and V
  alignas(1024) half K[SLOTS][D / SLAB][N][SLAB];
  alignas(1024) half V[SLOTS][D / SLAB][N][SLAB];
  alignas(16) float O[FINISHED][SENDERS][4];  // from the other block's threads
  alignas(16) float rows[SENDERS / 4][2][2];  // from its quads: m and l of two rows
  ptx::MBarrier q_full, k_full[SLOTS], k_empty[SLOTS], v_full[SLOTS], v_empty[SLOTS];  // of Q; of each slot
  ptx::MBarrier merged;                                                                // of O and rows
};

template <int D, int PARTS>
__global__ void __launch_bounds__(THREADS, D == 64 ? 2 : 1)  // blocks per SM
    attention(const __grid_constant__ CUtensorMap q, const __grid_constant__ CUtensorMap k,
              const __grid_constant__ CUtensorMap v, half* __restrict__ out, int H, int S, float scale, bool causal) {
  extern __shared__ __align__(1024) unsigned char shared[];
  Smem<D, PARTS>& smem = *reinterpret_cast<Smem<D, PARTS>*>(shared);
  constexpr int FINISHED = Smem<D, PARTS>::FINISHED;

  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int rank = PARTS > 1 ? int(ptx::cluster_rank()) : 0;  // of this block in its cluster
  const int other = PARTS - 1 - rank;
  const unsigned heads = H * gridDim.z, per_head = gridDim.x / PARTS;  // query tiles
  const BlockWork work = work_of(blockIdx.x / PARTS + per_head * (blockIdx.z * H + blockIdx.y), per_head, heads,
                                 over_all_heads(causal, S, D, heads, L2_SHARE));
  const int q0 = work.tile * M;  // first query row of this block
  out += std::size_t(work.head) * S * D;
  const int keys = causal ? min(S, q0 + M) : S;  // no row of the query tile sees a later key
  const int all_tiles = ceil_div(keys, N);
  const int first = ceil_div(all_tiles * rank, PARTS);  // this block's tiles: perhaps none
  const int tiles = ceil_div(all_tiles * (rank + 1), PARTS) - first;

  // --- Prologue: the barriers, Q and the first tiles on their way, an empty running softmax ------------------
  // By one thread: tile t into its slot, once all warps are done with the one before. Parity 1 passes on a fresh
  // barrier.
  const auto request = [&](const CUtensorMap& map, auto& tile, ptx::MBarrier& full, ptx::MBarrier& empty, int t) {
    ptx::mbarrier_wait(empty, t / SLOTS % 2 ^ 1);
    ptx::mbarrier_arrive_expect_tx(full, sizeof tile);
    ptx::tma_load_4d(tile, map, 0, (first + t) * N, 0, work.head, full);
  };
  const auto request_k = [&](int t) {
    if (const int slot = t % SLOTS; t < tiles) request(k, smem.K[slot], smem.k_full[slot], smem.k_empty[slot], t);
  };
  const auto request_v = [&](int t) {
    if (const int slot = t % SLOTS; t < tiles) request(v, smem.V[slot], smem.v_full[slot], smem.v_empty[slot], t);
  };
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(smem.q_full, 1);
    for (int slot = 0; slot < SLOTS; ++slot) {
      ptx::mbarrier_init(smem.k_full[slot], 1), ptx::mbarrier_init(smem.k_empty[slot], WARPS);
      ptx::mbarrier_init(smem.v_full[slot], 1), ptx::mbarrier_init(smem.v_empty[slot], WARPS);
    }
    if constexpr (PARTS > 1) ptx::mbarrier_init(smem.merged, 1);
    ptx::fence_mbarrier_init();
    if constexpr (PARTS > 1) ptx::mbarrier_arrive_expect_tx(smem.merged, sizeof smem.O + sizeof smem.rows);
  }
  if constexpr (PARTS > 1) ptx::cluster_arrive();  // waited for before the first access to the other's memory
  __syncthreads();
  if (threadIdx.x == 0) {
    ptx::mbarrier_arrive_expect_tx(smem.q_full, sizeof smem.Q);
    ptx::tma_load_4d(smem.Q, q, 0, q0, 0, work.head, smem.q_full);
    request_k(0);
    for (int t = 1; t < SLOTS - 1; ++t) request_k(t), request_v(t - 1);
  }
  // The m64nN accumulator layout: of the warp's row quad_row + 8 h, columns 8 n + first_column and the next are
  // [n][2 h] and [n][2 h + 1].
  const int first_row = warp * 16, quad_row = lane / 4, first_column = lane % 4 * 2;
  float s[N / 8][4];                        // scores, then weights, [64 rows][N keys]
  unsigned p[N / 16][4];                    // weights as halves: A operands of 16 keys each
  float o[D / 8][4] = {};                   // O, [64 rows][D columns]
  float row_max[2] = {-FLT_MAX, -FLT_MAX};  // the score of weight 1; not -inf: -inf - -inf is NaN
  float row_sum[2] = {};                    // of the lane's own columns only
  const float scale_log2 = scale * LOG2_E;  // exp(scale x) is 2^(scale_log2 x)
  float reference[2] = {};                  // row_max times scale_log2, from the first tile on
  const auto begin_qk = [&](int t) {        // s = Q K^T: A [64][D] and B [D][N], both K-major, from shared memory
    const int slot = t % SLOTS;
    ptx::mbarrier_wait(smem.k_full[slot], t / SLOTS % 2);
    ptx::wgmma_fence();
#pragma unroll
    for (int c = 0; c < D; c += 16)
      ptx::wgmma<ptx::K_MAJOR>(s, ptx::descriptor(smem.Q, 0, c), ptx::descriptor(smem.K[slot], 0, c), c > 0);
    ptx::wgmma_commit();
  };
  const auto begin_pv = [&](int t) {  // o += P V: A [64][N] from registers, B [N][D] MN-major
    const int slot = t % SLOTS;
    ptx::mbarrier_wait(smem.v_full[slot], t / SLOTS % 2);
    ptx::wgmma_fence();
#pragma unroll
    for (int n = 0; n < N; n += 16) ptx::wgmma<ptx::MN_MAJOR>(o, p[n / 16], ptx::descriptor(smem.V[slot], n, 0));
    ptx::wgmma_commit();
  };
  ptx::mbarrier_wait(smem.q_full, 0);

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
        hide_keys(s, q0 + first_row + quad_row, key + first_column, S, causal);
    };

    float sum[2] = {};

    // The reference -inf makes weights infinite or NaN: they fail both checks.
    hide();
    if (t > 0) weigh(s, sum, scale_log2, reference);
    const bool fits = t > 0 && sum[0] <= LARGEST_SUM && sum[1] <= LARGEST_SUM;
    const bool finite = t > 0 && sum[0] <= LARGEST_FINITE && sum[1] <= LARGEST_FINITE;
    ptx::wgmma_wait<0>();
    ptx::fence_registers(o), ptx::fence_registers(p);
    if (t > 0 && lane == 0) ptx::mbarrier_arrive(smem.v_empty[(t - 1) % SLOTS]);
    if (!__all_sync(FULL_WARP, fits)) {
      if (__all_sync(FULL_WARP, finite)) {
        raise_reference(scale_log2, s, o, row_max, row_sum, reference, sum);
      } else {
        if (t > 0) score_by_warp(s, smem.Q, smem.K[t % SLOTS], first_row, lane), hide();
        weigh_anew(scale_log2, s, o, row_max, row_sum, reference, sum);
      }
    }
    row_sum[0] += sum[0], row_sum[1] += sum[1];
    pack(p, s);
    if (lane == 0) ptx::mbarrier_arrive(smem.k_empty[t % SLOTS]);
  }
  if (tiles > 0) begin_pv(tiles - 1);
  ptx::wgmma_wait<0>();
  ptx::fence_registers(o), ptx::fence_registers(p);

  // --- Merge: block r finishes the columns from r D / 2 on ---------------------------------------------------
  float own[FINISHED][4];
  row_sum[0] = quad_sum(row_sum[0]), row_sum[1] = quad_sum(row_sum[1]);
#pragma unroll
  for (int d = 0; d < FINISHED; ++d)
#pragma unroll
    for (int e = 0; e < 4; ++e) own[d][e] = rank == 0 ? o[d][e] : o[D / 8 - FINISHED + d][e];
  if constexpr (PARTS > 1) {
    ptx::cluster_wait();
#pragma unroll
    for (int d = 0; d < FINISHED; ++d) {
      float x[4];
#pragma unroll
      for (int e = 0; e < 4; ++e) x[e] = rank == 0 ? o[FINISHED + d][e] : o[d][e];
      ptx::st_async(smem.O[d][threadIdx.x], other, make_float4(x[0], x[1], x[2], x[3]), smem.merged);
    }
    for (int h = 0; h < 2; ++h) reference[h] = row_max[h] * scale_log2;  // a huge row has -inf there
    auto& rows = smem.rows[threadIdx.x / 4];
    if (first_column == 0)
      ptx::st_async(rows, other, make_float4(reference[0], row_sum[0], reference[1], row_sum[1]), smem.merged);
    ptx::mbarrier_wait_cluster(smem.merged, 0);
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const float both = fmaxf(reference[h], rows[h][0]);
      const float ours = ptx::ex2(reference[h] - both), theirs = ptx::ex2(rows[h][0] - both);
      row_sum[h] = fmaf(row_sum[h], ours, rows[h][1] * theirs);
#pragma unroll
      for (int d = 0; d < FINISHED; ++d) {
        const float2 x = *reinterpret_cast<const float2*>(&smem.O[d][threadIdx.x][2 * h]);
        own[d][2 * h] = fmaf(own[d][2 * h], ours, x.x * theirs);
        own[d][2 * h + 1] = fmaf(own[d][2 * h + 1], ours, x.y * theirs);
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
// As attention<D, PARTS><<<grid, THREADS, BYTES, a.stream>>>(...), but in clusters of PARTS blocks along x.
template <int D, int PARTS>
cudaError_t launch(const AttentionArgs& a) {
  constexpr int BYTES = sizeof(Smem<D, PARTS>);
  static_assert(BYTES <= 227 * 1024, "what sm_90 gives a block");
  CUtensorMap q, k, v;
  if (const cudaError_t error = head_maps(a.shape, {{q, a.q, M}, {k, a.k, N}, {v, a.v, N}})) return error;
  if (const cudaError_t error =
          cudaFuncSetAttribute(attention<D, PARTS>, cudaFuncAttributeMaxDynamicSharedMemorySize, BYTES))
    return error;
  cudaLaunchAttribute cluster{cudaLaunchAttributeClusterDimension};
  cluster.val.clusterDim = {PARTS, 1, 1};
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(ceil_div(a.shape.S, M) * PARTS, a.shape.H, a.shape.B), config.blockDim = dim3(THREADS);
  config.dynamicSmemBytes = BYTES, config.stream = a.stream;
  config.attrs = &cluster, config.numAttrs = PARTS > 1;
  return cudaLaunchKernelEx(&config, attention<D, PARTS>, q, k, v, a.out, a.shape.H, a.shape.S, a.scale,
                            a.shape.causal);
}

// A query tile is split where every block then has a multiprocessor of its own.
int parts(const Shape& shape) {
  int device = 0, multiprocessors = 0;
  cudaGetDevice(&device), cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
  return 2 * ceil_div(shape.S, M) * shape.H * shape.B <= multiprocessors ? 2 : 1;
}

}  // namespace

cudaError_t attention(const half* q, const half* k, const half* v, half* out, int B, int H, int S, int D, float scale,
                      int causal, void*, cudaStream_t stream) {
  const lab::AttentionArgs args{q, k, v, out, {B, H, S, D, causal != 0}, scale, stream};
  if (const cudaError_t error = check(args)) return error;
  if (D == 64) return parts(args.shape) == 1 ? launch<64, 1>(args) : launch<64, 2>(args);
  return parts(args.shape) == 1 ? launch<128, 1>(args) : launch<128, 2>(args);
}
