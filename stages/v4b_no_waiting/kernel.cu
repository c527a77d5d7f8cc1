// V4b: no wait that can be avoided. In a launch of five microseconds every wait shows.
// - The arrival at the cluster's barrier is relaxed. A release seems to hold each thread until all requests of the
//   block are complete, the copies included.
// - One thread initialises the barriers of Q, K and V and requests the copies at once, in the order in which they are
//   needed, before any block barrier. All divisors are compile-time constants.
// - The slots are empty at the start, so no thread waits for them; a slot that gets no second tile is never released.
// - Fewer, longer steps: 256 keys, two or four tiles, under one maximum. All their scores are begun before the maximum
//   is taken. The remaining tiles are computed one by one.
// - Each tile's p has registers of its own, so that no product of V is waited for. The last products still run while
//   the row sums are added up.
//
//   for each group of K/V tiles t, t + 1, ..:  s[i] = Q K(t + i) begin
//     as they arrive:                          n = max(m, rowmax(s[i]), ..);  l, O times 2^(m - n), m = n;
//     for each:                                p[i] = 2^(s[i] - n);  l = l + sum(p[i]);  O = O + p[i] V begins
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cfloat>

#include "common/attention.hpp"
#include "common/hopper/head_map.hpp"
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
constexpr int M = WARPS * 16;                      // query rows per block
constexpr float LARGEST_REFERENCE = 134217728.0f;  // 2^27: its rounding error, at most 4, is in all weights' exponents

template <int D>
struct Tile {
  static constexpr int N = D == 64 ? 128 : 64;     // keys per tile
  static constexpr int AT_ONCE = D == 64 ? 2 : 4;  // tiles under one maximum
  static constexpr int SLOTS = D == 64 ? 2 : 4;    // tiles of K and V in shared memory
};

// --- shared memory ---------------------------------------------------------------------------------------
template <int D, int PARTS>
struct Smem {
  static constexpr int N = Tile<D>::N, SLOTS = Tile<D>::SLOTS;
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
  constexpr int N = Tile<D>::N, AT_ONCE = Tile<D>::AT_ONCE, SLOTS = Tile<D>::SLOTS, FINISHED = Smem<D, PARTS>::FINISHED;

  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int rank = PARTS > 1 ? int(ptx::cluster_rank()) : 0;  // of this block in its cluster
  const int other = PARTS - 1 - rank;
  const int head = blockIdx.z * H + blockIdx.y;
  const int q0 = (gridDim.x - 1 - blockIdx.x) / PARTS * M;  // first query row of this block
  out += std::size_t(head) * S * D;
  const int keys = causal ? min(S, q0 + M) : S;  // no row of the query tile sees a later key
  const int all_tiles = ceil_div(keys, N);
  const int first = ceil_div(all_tiles * rank, PARTS);  // this block's tiles: perhaps none
  const int tiles = ceil_div(all_tiles * (rank + 1), PARTS) - first;

  // --- Prologue: the barriers, Q and the first tiles on their way, an empty running softmax ------------------
  const auto request = [&](const CUtensorMap& map, auto& tile, ptx::MBarrier& full, int t) {  // by one thread
    ptx::mbarrier_arrive_expect_tx(full, sizeof tile);
    ptx::tma_load_4d(tile, map, 0, (first + t) * N, 0, head, full);
  };
  const auto request_k = [&](int t) {
    if (const int slot = t % SLOTS; t < tiles) request(k, smem.K[slot], smem.k_full[slot], t);
  };
  const auto request_v = [&](int t) {
    if (const int slot = t % SLOTS; t < tiles) request(v, smem.V[slot], smem.v_full[slot], t);
  };
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(smem.q_full, 1);
    for (int slot = 0; slot < SLOTS; ++slot)
      ptx::mbarrier_init(smem.k_full[slot], 1), ptx::mbarrier_init(smem.v_full[slot], 1);
    ptx::fence_mbarrier_init();
    ptx::mbarrier_arrive_expect_tx(smem.q_full, sizeof smem.Q);
    ptx::tma_load_4d(smem.Q, q, 0, q0, 0, head, smem.q_full);
    for (int t = 0; t < SLOTS; ++t) request_k(t);  // before V: it is needed first
    for (int t = 0; t < SLOTS; ++t) request_v(t);
  }
  if (threadIdx.x == 32) {
    for (int slot = 0; slot < SLOTS; ++slot)
      ptx::mbarrier_init(smem.k_empty[slot], WARPS), ptx::mbarrier_init(smem.v_empty[slot], WARPS);
    if constexpr (PARTS > 1) ptx::mbarrier_init(smem.merged, 1);
    ptx::fence_mbarrier_init();
    if constexpr (PARTS > 1) ptx::mbarrier_arrive_expect_tx(smem.merged, sizeof smem.O + sizeof smem.rows);
  }
  __syncwarp();
  if constexpr (PARTS > 1) ptx::cluster_arrive_relaxed();  // waited for before the first access to the other's memory
  __syncthreads();
  // The m64nN accumulator layout: of the warp's row quad_row + 8 h, columns 8 n + first_column and the next are
  // [n][2 h] and [n][2 h + 1].
  const int first_row = warp * 16, quad_row = lane / 4, first_column = lane % 4 * 2;
  float o[D / 8][4] = {};                                  // O, [64 rows][D columns]
  float row_max[2] = {-FLT_MAX, -FLT_MAX};                 // the score of weight 1; not -inf: -inf - -inf is NaN
  float row_sum[2] = {};                                   // of the lane's own columns only
  const float scale_log2 = scale * LOG2_E;                 // exp(scale x) is 2^(scale_log2 x)
  float factor[2], base[2];                                // p = 2^(factor s - base)
  const auto begin_qk = [&](float(&s)[N / 8][4], int t) {  // s = Q K^T: A [64][D] and B [D][N], both K-major
    const int slot = t % SLOTS;
    ptx::mbarrier_wait(smem.k_full[slot], t / SLOTS % 2);
    ptx::wgmma_fence();
#pragma unroll
    for (int c = 0; c < D; c += 16)
      ptx::wgmma<ptx::K_MAJOR>(s, ptx::descriptor(smem.Q, 0, c), ptx::descriptor(smem.K, slot, 0, c), c > 0);
    ptx::wgmma_commit();
  };
  const auto begin_pv = [&](const unsigned(&p)[N / 16][4], int t) {  // o += P V: A from registers, B [N][D] MN-major
    const int slot = t % SLOTS;
    ptx::mbarrier_wait(smem.v_full[slot], t / SLOTS % 2);
    ptx::wgmma_fence();
#pragma unroll
    for (int n = 0; n < N; n += 16) ptx::wgmma<ptx::MN_MAJOR>(o, p[n / 16], ptx::descriptor(smem.V, slot, n, 0));
    ptx::wgmma_commit();
  };
  // The last key that each of the lane's rows sees.
  const int last_key[2] = {min(q0 + first_row + quad_row + (causal ? 0 : S), S - 1),
                           min(q0 + first_row + quad_row + 8 + (causal ? 0 : S), S - 1)};
  // Hidden keys' scores of tile t become -inf.
  const auto mask = [&](float(&s)[N / 8][4], int t) {
    const int key = (first + t) * N;
    // Only a tile on the diagonal or at the end of the keys has anything to hide.
    if (key + N <= S && (!causal || key + N <= q0 + first_row + 1)) return;
#pragma unroll
    for (int h = 0; h < 2; ++h) hide_after(s, h, last_key[h] - key - first_column);
  };
  // The lane's own columns' part of the rows' maximum.
  const auto raise = [&](float(&highest)[2], const float(&s)[N / 8][4]) {
#pragma unroll
    for (int n = 0; n < N / 8; ++n)
#pragma unroll
      for (int e = 0; e < 4; ++e) highest[e / 2] = fmaxf(highest[e / 2], s[n][e]);
  };
  // l and O relative to a maximum that takes these scores in. A huge row's factor is a power of two: its product with
  // the maximum is exact. It is up to twice scale_log2; two different scores are so far apart there that the smaller's
  // weight is below 2^-8. (v4a subtracts first, behind a branch: here that would stand before the exponentials.)
  const float power = __uint_as_float((__float_as_uint(scale_log2) + 0x7FFFFF) & 0x7F800000);  // at or above it
  const auto new_reference = [&](const float(&highest)[2]) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const float old_max = row_max[h];
      row_max[h] = fmaxf(old_max, quad_max(highest[h]));
      const bool huge = fabsf(row_max[h] * scale_log2) > LARGEST_REFERENCE;
      factor[h] = huge ? power : scale_log2, base[h] = row_max[h] * factor[h];
      const float rescale = ptx::ex2(old_max * factor[h] - base[h]);
      row_sum[h] *= rescale;
#pragma unroll
      for (int d = 0; d < D / 8; ++d) o[d][2 * h] *= rescale, o[d][2 * h + 1] *= rescale;
    }
  };
  // s becomes 2^(s - n), and is added up.
  const auto weights = [&](float(&s)[N / 8][4]) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      float sum = 0.0f;
#pragma unroll
      for (int n = 0; n < N / 8; ++n) {
        float &p0 = s[n][2 * h], &p1 = s[n][2 * h + 1];
        p0 = ptx::ex2(fmaf(p0, factor[h], -base[h])), p1 = ptx::ex2(fmaf(p1, factor[h], -base[h]));
        sum += p0 + p1;
      }
      row_sum[h] += sum;
    }
  };
  // All of tile t has been read: it may be overwritten.
  const auto refill = [&](int t) {
    const int slot = t % SLOTS;
    if (t + SLOTS >= tiles) return;
    if (lane == 0) ptx::mbarrier_arrive(smem.k_empty[slot]), ptx::mbarrier_arrive(smem.v_empty[slot]);
    if (threadIdx.x == 0) {
      ptx::mbarrier_wait(smem.k_empty[slot], t / SLOTS % 2);
      request_k(t + SLOTS);
      ptx::mbarrier_wait(smem.v_empty[slot], t / SLOTS % 2);
      request_v(t + SLOTS);
    }
  };
  ptx::mbarrier_wait(smem.q_full, 0);

  // --- Mainloop: AT_ONCE tiles under one maximum; the last products are still under way when it ends ---------
  unsigned p[AT_ONCE][N / 16][4];  // outlives the loops: the last products read it until the wait in the merge
  const auto wait_for_o = [&] {
    ptx::wgmma_wait<0>();
    ptx::fence_registers(o);
#pragma unroll
    for (auto& of_a_tile : p) ptx::fence_registers(of_a_tile);
  };
  int t = 0;
  while (t + AT_ONCE <= tiles) {
    float s[AT_ONCE][N / 8][4], highest[2] = {-INFINITY, -INFINITY};
#pragma unroll
    for (int i = 0; i < AT_ONCE; ++i) begin_qk(s[i], t + i);
#pragma unroll
    for (int i = 0; i < AT_ONCE; ++i) {
      ptx::wgmma_wait_all_but(AT_ONCE - 1 - i);
      ptx::fence_registers(s[i]);
      mask(s[i], t + i);
      raise(highest, s[i]);
    }
    new_reference(highest);
#pragma unroll
    for (int i = 0; i < AT_ONCE; ++i) {
      weights(s[i]);
      pack(p[i], s[i]);
      begin_pv(p[i], t + i);
    }
    t += AT_ONCE;
    if (t == tiles) break;
    wait_for_o();
#pragma unroll
    for (int i = 0; i < AT_ONCE; ++i) refill(t - AT_ONCE + i);
  }
  while (t < tiles) {  // fewer than SLOTS tiles: all have been requested
    float s[N / 8][4], highest[2] = {-INFINITY, -INFINITY};
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
  float own[FINISHED][4];
  row_sum[0] = quad_sum(row_sum[0]), row_sum[1] = quad_sum(row_sum[1]);
  if constexpr (PARTS > 1) ptx::cluster_wait();
  wait_for_o();
#pragma unroll
  for (int d = 0; d < FINISHED; ++d)
#pragma unroll
    for (int e = 0; e < 4; ++e) own[d][e] = rank == 0 ? o[d][e] : o[D / 8 - FINISHED + d][e];
  if constexpr (PARTS > 1) {
#pragma unroll
    for (int d = 0; d < FINISHED; ++d) {
      float x[4];
#pragma unroll
      for (int e = 0; e < 4; ++e) x[e] = rank == 0 ? o[FINISHED + d][e] : o[d][e];
      ptx::st_async(smem.O[d][threadIdx.x], other, make_float4(x[0], x[1], x[2], x[3]), smem.merged);
    }
    const float reference[2] = {row_max[0] * scale_log2, row_max[1] * scale_log2};
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
    const float norm = D == 64 ? ptx::rcp(row_sum[h]) : 1.0f / row_sum[h];  // each the faster one there, measured
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
  if (const cudaError_t error = head_maps(a.shape, {{q, a.q, M}, {k, a.k, Tile<D>::N}, {v, a.v, Tile<D>::N}}))
    return error;
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
