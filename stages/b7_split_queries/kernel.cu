// B7: blocks share the queries of a key block. A small problem has fewer key blocks than the GPU has multiprocessors,
// and each block walks all query tiles, one after the other. Here as many blocks as fit have the same keys, and a part
// of the queries each. Each block stores its parts of dK and dV as floats. The kernel that rounds dQ adds these parts
// up, too. Where the key blocks fill the GPU, this is b5.
//
//   P = exp(s - L)     dP = dO V^T     dS = P (dP - delta)     dQ = scale dS K     dK = scale dS^T Q     dV = P^T dO
//
// The forward pass has saved O and L. One kernel computes, for each row, delta = dO·O and L log2 e. The main kernel
// adds its parts of dQ to fp32 sums, which lie in the order of the accumulators. A last kernel rounds the sums to fp16.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <algorithm>

#include "common/backward_forward.cuh"
#include "common/backward_launch.cuh"
#include "common/ds_unit.cuh"
#include "common/half_pair.cuh"
#include "common/hopper/descriptors.cuh"
#include "common/hopper/ring.cuh"
#include "common/hopper/swizzle.cuh"
#include "common/input_maps.hpp"
#include "common/multiprocessors.hpp"
#include "common/ptx/barrier.cuh"
#include "common/ptx/ex2.cuh"
#include "common/ptx/mbarrier.cuh"
#include "common/ptx/reduce.cuh"
#include "common/ptx/registers.cuh"
#include "common/ptx/stmatrix.cuh"
#include "common/ptx/tma.cuh"
#include "common/ptx/wgmma.cuh"
#include "common/smem_plan.cuh"
#include "common/tile.cuh"
#include "common/tile_store.cuh"
#include "common/warp.cuh"

namespace {
using namespace lab;

// --- tile constants --------------------------------------------------------------------------------------
constexpr int GROUP = 128;  // threads of a warpgroup
constexpr int GROUPS = 2;   // of keys; one more makes dQ
constexpr int THREADS = (GROUPS + 1) * GROUP;
constexpr int REGISTERS = 216, DQ_REGISTERS = 72;                       // per thread of a warpgroup of keys; of dQ
constexpr int GROUP_KEYS = 64;                                          // rows of a warpgroup's products
constexpr int STRIPE = 16;                                              // of those, a warp's
constexpr int DQ_ROWS = 64, DQ_COLS = 64, DQ_SIZE = DQ_ROWS * DQ_COLS;  // of dQ's tile, made at once
constexpr int DQ_PARTS = 2;                                             // that make a tile of dQ
constexpr int BLOCKS_TOGETHER = 256;  // of as many heads as that takes, started by turns
constexpr int SUM_BLOCKS = 4;         // that round a tile of sums, some columns each
constexpr int ROW_THREADS = 256;      // of a block of the kernel for the rows
constexpr float LOG2_E = 1.44269504f;

template <int D_>
struct Tile {
  static constexpr int D = D_;
  static constexpr int M = D == 64 ? 128 : 64;   // query rows per tile
  static constexpr int N = GROUPS * GROUP_KEYS;  // keys per block
  static constexpr int SLOTS = 3;                // of query tiles: one is used, one is there, one is on its way
  static constexpr int ROW_BLOCKS = M * D / 8 / ROW_THREADS;  // of the kernel for the rows, to a tile
  static constexpr unsigned ROWS_BYTES = M * D * sizeof(half), KEYS_BYTES = N * D * sizeof(half);
  static constexpr unsigned TERMS_BYTES = 2 * M * sizeof(float), QUERY_BYTES = 2 * ROWS_BYTES + TERMS_BYTES;
  static_assert(DQ_PARTS * DQ_SIZE == M * D, "the parts of dQ make a whole tile");
};

// --- shared-memory plan ----------------------------------------------------------------------------------
struct Smem {
  half *sK, *sV;   // [D / 64][N][64], swizzled; dK and dV take their places at the end
  half *sQ, *sdO;  // [SLOTS][D / 64][M][64], swizzled
  half* sdS;       // [2][N / 64][M][64], swizzled: that of a tile is still read while that of the next is written
  float* terms;    // [SLOTS][2][M]: L log2 e, then delta, of each query row
  ptx::MBarrier *keys_full, *full;    // of sK and sV; of each slot
  ptx::MBarrier *ds_full, *ds_empty;  // of each dS
};

template <class T, class Cursor>
__host__ __device__ Smem carve(Cursor& cursor) {
  Smem smem;
  smem.sK = cursor.template array<half, SWIZZLE_ALIGN>("sK", T::N * T::D / SLAB, SLAB);
  smem.sV = cursor.template array<half, SWIZZLE_ALIGN>("sV", T::N * T::D / SLAB, SLAB);
  smem.sQ = cursor.template array<half, SWIZZLE_ALIGN>("sQ", T::SLOTS * T::M * T::D / SLAB, SLAB);
  smem.sdO = cursor.template array<half, SWIZZLE_ALIGN>("sdO", T::SLOTS * T::M * T::D / SLAB, SLAB);
  smem.sdS = cursor.template array<half, SWIZZLE_ALIGN>("sdS", 2 * T::M * T::N / SLAB, SLAB);
  smem.terms = cursor.template array<float, SWIZZLE_ALIGN>("terms", T::SLOTS * 2, T::M);
  smem.keys_full = cursor.template array<ptx::MBarrier>("keys_full", 1, 1);
  smem.full = cursor.template array<ptx::MBarrier>("full", T::SLOTS, 1);
  smem.ds_full = cursor.template array<ptx::MBarrier>("ds_full", 2, 1);
  smem.ds_empty = cursor.template array<ptx::MBarrier>("ds_empty", 2, 1);
  return smem;
}

// --- L log2 e and delta of each query row, bounds of dS, and zeros for dQ's sums ---------------------------
template <int D>
__global__ void __launch_bounds__(ROW_THREADS)
    row_terms(const half* __restrict__ out, const half* __restrict__ dout, const half* __restrict__ v,
              const float* __restrict__ L, float* __restrict__ terms, float2* __restrict__ bounds,
              float4* __restrict__ dq_sum, int S) {
  // out, dout, v: [heads, S, D]; terms: [heads, tiles, 2, M]; bounds: [heads, tiles, ROW_BLOCKS];
  // dq_sum: [heads, tiles, M * D]
  constexpr int M = Tile<D>::M, LANES = D / 8, ROWS = ROW_THREADS / LANES;  // LANES: of a row
  const std::size_t head = blockIdx.x, block = head * gridDim.y + blockIdx.y;
  const int row = blockIdx.y * ROWS + threadIdx.x / LANES, c = threadIdx.x % LANES * 8;
  const std::size_t first = head * S * D, padded_row = block * ROWS + threadIdx.x / LANES;  // of all heads' tiles
  const uint4 o8 = load8<D>(out + first, row, c, S, 0), dout8 = load8<D>(dout + first, row, c, S, 0),
              v8 = load8<D>(v + first, row, c, S, 0);
  const float log_sum = row < S ? L[head * S + row] * LOG2_E : 0.0f;
  for (int i = 0; i < 2; ++i) dq_sum[(block * 2 + i) * ROW_THREADS + threadIdx.x] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  const float delta = lanes_sum<LANES>(dot8(o8, dout8));
  if (c == 0) {
    terms += padded_row / M * 2 * M + row % M;
    terms[0] = log_sum, terms[M] = delta;
  }
  const float2 bound = bound_of_block<ROW_THREADS, LANES>(dot8(dout8, dout8), dot8(v8, v8));
  if (threadIdx.x == 0) bounds[block] = bound;
}

// --- all gradients: a block for N keys and, of `parts` that share them, for its part of the query tiles -----------
template <int D>
__global__ void __launch_bounds__(THREADS, 1)
    gradients(const __grid_constant__ TensorMap q, const __grid_constant__ TensorMap k,
              const __grid_constant__ TensorMap v, const __grid_constant__ TensorMap dout,
              const float* __restrict__ terms, const float2* __restrict__ bounds, float* __restrict__ units,
              float* __restrict__ dq_sum, half* __restrict__ dk, half* __restrict__ dv, float* __restrict__ dk_parts,
              float* __restrict__ dv_parts, int parts, int heads, int S, float scale,
              bool causal) {  // heads: B * H
  using T = Tile<D>;
  constexpr int M = T::M, N = T::N;
  AlignedSmemCursor cursor;
  const Smem smem = carve<T>(cursor);

  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, group = __shfl_sync(FULL_WARP, threadIdx.x / GROUP, 0);
  const int quad_row = lane / 4, first_column = lane % 4 * 2;  // the lane's, in each 8x8 of an accumulator
  // The first keys of several heads come first: under a causal mask their blocks have the most to do.
  const int part = blockIdx.x % parts, head = (blockIdx.z * gridDim.x + blockIdx.x) / parts;
  if (head >= heads) return;
  const int k0 = blockIdx.y * N, first_key = warp * STRIPE;  // of this block; of this warp, within the block's
  const int all_tiles = ceil_div(S, M), unseen = causal ? k0 / M : 0;  // no earlier row sees a key of this block
  const int first_tile = unseen + (all_tiles - unseen) * part / parts;
  const int tiles = unseen + (all_tiles - unseen) * (part + 1) / parts - first_tile;  // perhaps none
  terms += (std::size_t(head) * all_tiles + first_tile) * 2 * M;
  dq_sum += (std::size_t(head) * all_tiles + first_tile) * M * D + threadIdx.x % GROUP * 4;
  dk += std::size_t(head) * S * D, dv += std::size_t(head) * S * D;
  bounds += std::size_t(head) * all_tiles * T::ROW_BLOCKS;
  const float scale_log2 = scale * LOG2_E;  // exp(scale s - L) is 2^(scale_log2 s - L log2 e)

  // --- Prologue: the barriers, K, V and the first tiles on their way -----------------------------------------
  const Ring<T::SLOTS> ring;  // of query tiles
  // By one thread: query tile t of this block's into its slot, which all warps are done with.
  const auto request = [&](int t) {
    if (t >= tiles) return;
    const int slot = ring.slot(t), row = (first_tile + t) * M;
    ptx::mbarrier_arrive_expect_tx(&smem.full[slot], T::QUERY_BYTES);
    ptx::tma_load_4d(smem.sQ + slot * M * D, &q, 0, row, 0, head, &smem.full[slot]);
    ptx::bulk_load(smem.terms + slot * 2 * M, terms + t * 2 * M, T::TERMS_BYTES, &smem.full[slot]);
    ptx::tma_load_4d(smem.sdO + slot * M * D, &dout, 0, row, 0, head, &smem.full[slot]);
  };
  float2 bound = {};  // of dS; the warps that need it find it while another one requests
  if (threadIdx.x == GROUPS * GROUP) {
    ptx::mbarrier_init(smem.keys_full, 1);
    for (int slot = 0; slot < T::SLOTS; ++slot) ptx::mbarrier_init(&smem.full[slot], 1);
    for (int i = 0; i < 2; ++i)
      ptx::mbarrier_init(&smem.ds_full[i], GROUPS * 4), ptx::mbarrier_init(&smem.ds_empty[i], 4);
    ptx::fence_mbarrier_init();
    ptx::mbarrier_arrive_expect_tx(smem.keys_full, 2 * T::KEYS_BYTES);
    ptx::tma_load_4d(smem.sK, &k, 0, k0, 0, head, smem.keys_full);
    ptx::tma_load_4d(smem.sV, &v, 0, k0, 0, head, smem.keys_full);
    request(0), request(1);
  }
  if (group < GROUPS) bound = largest_bound(bounds, all_tiles * T::ROW_BLOCKS);
  __syncthreads();
  const float unit = ds_unit(bound), inverse = inverse_unit(unit);
  if (threadIdx.x == 0 && part == 0 && k0 == 0) units[head] = unit;  // by one block, for the last kernel
  ptx::mbarrier_wait(smem.keys_full, 0);

  // --- The third warpgroup: dQ of each tile, from this block's keys -----------------------------------------
  const ptx::Descriptor k_rows_at = mn_major_descriptor<N>(smem.sK);
  if (group == GROUPS) {
    ptx::registers_release<DQ_REGISTERS>();
    const ptx::Descriptor ds_at = k_major_descriptor(smem.sdS);
    for (int t = 0; t < tiles; ++t) {
      ptx::mbarrier_wait(&smem.ds_full[t % 2], t / 2 % 2);
      if (threadIdx.x % GROUP == 0) request(t + 2);  // both are done with tile t - 1
#pragma unroll
      for (int part = 0; part < DQ_PARTS; ++part) {
        // At D = 64 a part has rows of its own, at D = 128 columns.
        const int row = D == 64 ? part * DQ_ROWS : 0, slab = D == 64 ? 0 : part;
        const ptx::Descriptor a = ptx::advance(ds_at, (t % 2 * M * N + row * SLAB) * int(sizeof(half)));
        const ptx::Descriptor b = ptx::advance(k_rows_at, slab * N * SLAB * int(sizeof(half)));
        float dQ[DQ_COLS / 2];
        ptx::wgmma_fence();  // dQ = dS K: A [64][N] K-major and B [N][64] MN-major
#pragma unroll
        for (int n = 0; n < N / 16; ++n) ptx::wgmma<DQ_COLS, true>(dQ, advance_k<M>(a, n), advance_keys(b, n), n > 0);
        ptx::wgmma_commit();
        ptx::wgmma_wait<0>();
        ptx::fence_registers(dQ);
        if (part == DQ_PARTS - 1) {
          __syncwarp();
          if (lane == 0) ptx::mbarrier_arrive(&smem.ds_empty[t % 2]);
        }
        // Four accumulators of each lane side by side, as one addition takes them; round_sums puts them in place.
#pragma unroll
        for (int i = 0; i < DQ_COLS / 2; i += 4)
          ptx::add4(dq_sum + t * M * D + part * DQ_SIZE + i * GROUP, dQ[i], dQ[i + 1], dQ[i + 2], dQ[i + 3]);
      }
    }
    if (parts == 1) ptx::barrier_arrive(1, THREADS);
    return;
  }
  ptx::registers_take<REGISTERS>();

  // The m64nN accumulator layout: of the warp's row quad_row, columns 8 i + first_column and the next in [4 i] and
  // [4 i + 1]; of row quad_row + 8 in [4 i + 2] and [4 i + 3].
  float s[M / 2], dp[M / 2];             // S^T and dP^T, [64 keys][M queries]
  float dV[D / 2] = {}, dK[D / 2] = {};  // [64 keys][D]
  unsigned p[M / 16][4], ds[M / 16][4];  // P^T and dS^T as halves: A operands of 16 queries each
  const ptx::Descriptor k_at = k_major_descriptor(smem.sK + group * GROUP_KEYS * SLAB);
  const ptx::Descriptor v_at = k_major_descriptor(smem.sV + group * GROUP_KEYS * SLAB);
  const ptx::Descriptor q_at = k_major_descriptor(smem.sQ), q_rows_at = mn_major_descriptor<M>(smem.sQ);
  const ptx::Descriptor dout_at = k_major_descriptor(smem.sdO), dout_rows_at = mn_major_descriptor<M>(smem.sdO);
  const auto begin_scores = [&](float(&to)[M / 2], ptx::Descriptor keys, ptx::Descriptor rows) {
    ptx::wgmma_fence();  // S^T = K Q^T or dP^T = V dO^T: A [64][D] and B [D][M], both K-major
#pragma unroll
    for (int kk = 0; kk < D / 16; ++kk) ptx::wgmma<M>(to, advance_k<N>(keys, kk), advance_k<M>(rows, kk), kk > 0);
    ptx::wgmma_commit();
  };
  const auto begin_weighted = [&](float(&to)[D / 2], const unsigned(&weights)[M / 16][4], ptx::Descriptor rows) {
    ptx::wgmma_fence();  // dV += P^T dO or dK += dS^T Q: A [64][M] from registers, B [M][D] MN-major
#pragma unroll
    for (int m = 0; m < M / 16; ++m) ptx::wgmma<D, true>(to, weights[m], advance_keys(rows, m), true);
    ptx::wgmma_commit();
  };

  const auto begin_s = [&](int t) {  // S^T of tile t, once it is there
    ptx::mbarrier_wait(&smem.full[ring.slot(t)], ring.parity(t));
    begin_scores(s, k_at, ptx::advance(q_at, ring.slot(t) * T::ROWS_BYTES));
  };

  // --- Mainloop: one query tile at a time -------------------------------------------------------------------
  if (tiles > 0) {
    begin_s(0);
    ptx::wgmma_wait<0>();
    ptx::fence_registers(s);
  }
  for (int t = 0; t < tiles; ++t) {
    const int slot = ring.slot(t);

    // P^T = exp(S^T - L). Only a tile on the diagonal or at an end has anything to hide.
    const float* const L = smem.terms + slot * 2 * M + first_column;
    const float* const delta = L + M;
#pragma unroll
    for (int i = 0; i < M / 2; ++i) s[i] = fmaf(s[i], scale_log2, -L[i / 4 * 8 + i % 2]);
    const int q0 = (first_tile + t) * M;
    if (q0 + M > S || k0 + N > S || (causal && q0 < k0 + N - 1) || unit != 1.0f) {
#pragma unroll
      for (int i = 0; i < M / 2; ++i) {
        const int row = q0 + i / 4 * 8 + first_column + i % 2;
        const int last_key = row >= S ? -1 : causal ? row : S - 1;  // that the row sees
        if (k0 + first_key + quad_row + i / 2 % 2 * 8 > last_key) s[i] = -INFINITY;
      }
      if (unit != 1.0f) {  // then delta is divided by it, once for both warpgroups
        if (threadIdx.x < M) smem.terms[(slot * 2 + 1) * M + threadIdx.x] *= inverse;
        ptx::barrier_sync(2, GROUPS * GROUP);
      }
    }
#pragma unroll
    for (int i = 0; i < M / 2; ++i) s[i] = ptx::ex2(s[i]);
#pragma unroll
    for (int i = 0; i < M / 4; ++i) p[i / 4][i % 4] = half_pair(s[2 * i], s[2 * i + 1]);
    // Both behind the exponentials, whose registers dP^T takes: the other warpgroup keeps the tensor cores busy.
    begin_scores(dp, v_at, ptx::advance(dout_at, slot * T::ROWS_BYTES));
    begin_weighted(dV, p, ptx::advance(dout_rows_at, slot * T::ROWS_BYTES));
    ptx::wgmma_wait<0>();
    ptx::fence_registers(dp), ptx::fence_registers(dV), ptx::fence_registers(p);

    // dS^T = P^T (dP^T - delta) / unit, with P^T as rounded for dV, which turns into dS in shared memory.
#pragma unroll
    for (int i = 0; i < M / 4; ++i) {
      const int column = i / 2 * 8;
      const float2 weights = floats(p[i / 4][i % 4]);
      ds[i / 4][i % 4] = half_pair(weights.x * fmaf(dp[2 * i], inverse, -delta[column]),
                                   weights.y * fmaf(dp[2 * i + 1], inverse, -delta[column + 1]));
    }
    ptx::mbarrier_wait(&smem.ds_empty[t % 2], t / 2 % 2 ^ 1);
    half* const sdS = smem.sdS + t % 2 * M * N;
#pragma unroll
    for (int m = 0; m < M / 16; ++m)
      ptx::stmatrix_x4_trans(&sdS[swizzled<M>(16 * m + lane / 16 * 8 + lane % 8, first_key + lane / 8 % 2 * 8)], ds[m]);
    ptx::fence_proxy_async();
    __syncwarp();
    if (lane == 0) ptx::mbarrier_arrive(&smem.ds_full[t % 2]);
    begin_weighted(dK, ds, ptx::advance(q_rows_at, slot * T::ROWS_BYTES));
    begin_s(min(t + 1, tiles - 1));  // of the next tile; without a branch around a product in flight
    ptx::wgmma_wait<0>();
    ptx::fence_registers(dV), ptx::fence_registers(dK), ptx::fence_registers(ds), ptx::fence_registers(s);
  }

  // --- Epilogue: store the part as it is; or, where no other block has these keys, scale dK, round to fp16, store ---
  if (parts > 1) {
    const int key = k0 + group * GROUP_KEYS;
    if (key >= S) return;
    const std::size_t at = ((std::size_t(part) * heads + head) * all_tiles * M + key) * D + threadIdx.x % GROUP * 4;
#pragma unroll
    for (int i = 0; i < D / 2; i += 4) {
      *reinterpret_cast<float4*>(dk_parts + at + i * GROUP) = make_float4(dK[i], dK[i + 1], dK[i + 2], dK[i + 3]);
      *reinterpret_cast<float4*>(dv_parts + at + i * GROUP) = make_float4(dV[i], dV[i + 1], dV[i + 2], dV[i + 3]);
    }
    return;
  }
  ptx::barrier_sync(1, THREADS);  // all are done with K and V
#pragma unroll
  for (int h = 0; h < 2; ++h)
    for (int d = 0; d < D / 8; ++d) {
      const int place = swizzled<N>(first_key + quad_row + 8 * h, 8 * d + first_column), i = 4 * d + 2 * h;
      store2(&smem.sK[place], dK[i] * (scale * unit), dK[i + 1] * (scale * unit));
      store2(&smem.sV[place], dV[i], dV[i + 1]);
    }
  __syncwarp();
  store_rows<STRIPE, D, swizzled<N>>(dk, smem.sK, first_key, k0, S, lane);
  store_rows<STRIPE, D, swizzled<N>>(dv, smem.sV, first_key, k0, S, lane);
}

// --- dQ, dK and dV: the sums, scaled, rounded, and in place -----------------------------------------------
template <int D>
__global__ void __launch_bounds__(DQ_PARTS* GROUP)
    round_sums(const float* __restrict__ dq_sum, const float* __restrict__ units, const float* __restrict__ dk_parts,
               const float* __restrict__ dv_parts, half* __restrict__ dq, half* __restrict__ dk, half* __restrict__ dv,
               int parts, int heads, int S, float scale) {
  constexpr int M = Tile<D>::M, VECTORS = DQ_COLS / 8 / SUM_BLOCKS;  // VECTORS: of four floats, of a thread
  const int group = threadIdx.x / GROUP, warp = threadIdx.x % GROUP / 32, lane = threadIdx.x % 32;
  const int tile = blockIdx.y / SUM_BLOCKS, tiles = gridDim.y / SUM_BLOCKS, head = blockIdx.x;  // y and z end at 65535
  const int first = blockIdx.y % SUM_BLOCKS * VECTORS, gradient = blockIdx.z;                   // 0 dQ, 1 dK, 2 dV
  const float* sums = gradient == 0 ? dq_sum : gradient == 1 ? dk_parts : dv_parts;
  sums += ((std::size_t(head) * tiles + tile) * DQ_PARTS + group) * DQ_SIZE + (first * GROUP + threadIdx.x % GROUP) * 4;
  const int row0 = tile * M + (D == 64 ? group * DQ_ROWS : 0) + warp * STRIPE + lane / 4;
  const int col0 = (D == 64 ? 0 : group * DQ_COLS) + first * 8 + lane % 4 * 2;
  half* const to = (gradient == 0 ? dq : gradient == 1 ? dk : dv) + std::size_t(head) * S * D;
  const float factor = gradient == 2 ? 1.0f : scale * units[head];
  float4 sum[VECTORS] = {};
#pragma unroll 4
  for (int part = 0; part < (gradient == 0 ? 1 : parts); ++part)
#pragma unroll
    for (int i = 0; i < VECTORS; ++i) {
      const std::size_t at = std::size_t(part) * heads * tiles * M * D + i * 4 * GROUP;
      const float4 x = *reinterpret_cast<const float4*>(sums + at);
      sum[i].x += x.x, sum[i].y += x.y, sum[i].z += x.z, sum[i].w += x.w;
    }
#pragma unroll
  for (int i = 0; i < VECTORS; ++i) {
    half* const here = to + std::size_t(row0) * D + col0 + i * 8;
    if (row0 < S) store2(here, sum[i].x * factor, sum[i].y * factor);
    if (row0 + 8 < S) store2(here + 8 * D, sum[i].z * factor, sum[i].w * factor);
  }
}

// --- launcher --------------------------------------------------------------------------------------------
// The parts of the workspace. `save_forward` fills out and L.
struct Workspace {
  float* dq_sum;               // [B, H, tiles, M * D]
  float *dk_parts, *dv_parts;  // [parts][B, H, tiles, M * D] each, where parts is more than 1
  half* out;                   // [B, H, S, D]
  float* terms;                // [B, H, tiles, 2, M]
  float2* bounds;              // [B, H, tiles, ROW_BLOCKS]
  float *units, *L;            // [B, H] and [B, H, S]
};

std::size_t padded_rows(const Shape& s) {
  const int M = s.D == 64 ? Tile<64>::M : Tile<128>::M;
  return std::size_t(s.B) * s.H * ceil_div(s.S, M) * M;
}

// Blocks that share the queries of a key block: as many as leave each a multiprocessor of its own, where that makes
// the longest walk three tiles shorter at least, which is about what the parts of dK and dV cost (measured).
int parts(const Shape& s) {
  const int key_blocks = ceil_div(s.S, GROUPS * GROUP_KEYS) * s.H * s.B;
  const int tiles = ceil_div(s.S, s.D == 64 ? Tile<64>::M : Tile<128>::M);
  const int most = std::clamp(multiprocessors() / key_blocks, 1, tiles);
  return tiles - ceil_div(tiles, most) >= 3 ? most : 1;
}

// Floats of the parts of dK, and of dV.
std::size_t of_parts(const Shape& s) { return parts(s) > 1 ? parts(s) * padded_rows(s) * s.D : 0; }

unsigned row_blocks(const Shape& s) { return unsigned(padded_rows(s) * (s.D / 8) / ROW_THREADS); }

std::size_t workspace(const Shape& s) {
  return padded_rows(s) * (s.D + 2) + 2 * of_parts(s) + s.elements() / 2 + 2 * row_blocks(s) + s.B * s.H + s.rows();
}

Workspace workspace_of(const BackwardArgs& a) {
  float* const dk_parts = a.workspace + padded_rows(a.shape) * a.shape.D;
  float* const dv_parts = dk_parts + of_parts(a.shape);
  half* const out = reinterpret_cast<half*>(dv_parts + of_parts(a.shape));
  float* const terms = reinterpret_cast<float*>(out + a.shape.elements());
  float2* const bounds = reinterpret_cast<float2*>(terms + padded_rows(a.shape) * 2);
  float* const units = reinterpret_cast<float*>(bounds + row_blocks(a.shape));
  float* const L = units + a.shape.B * a.shape.H;
  return {a.workspace, dk_parts, dv_parts, out, terms, bounds, units, L};
}

template <int D>
cudaError_t save_forward(const BackwardArgs& a) {
  const Workspace w = workspace_of(a);
  return launch_forward<D>(a, w.out, w.L);
}

template <int D>
cudaError_t launch_gradients(const BackwardArgs& a) {
  using T = Tile<D>;
  const int S = a.shape.S, heads = a.shape.B * a.shape.H,
            together = std::clamp(BLOCKS_TOGETHER / ceil_div(S, T::N), 1, heads), split = parts(a.shape);
  const int tiles = ceil_div(S, T::M);
  const Workspace w = workspace_of(a);
  SmemCount smem;
  carve<T>(smem);
  TensorMap q, k, v, dout;
  if (const cudaError_t error = opt_in_smem("gradients", gradients<D>, smem.bytes)) return error;
  if (const cudaError_t error = head_tiles_map(q, a.q, a.shape, T::M)) return error;
  if (const cudaError_t error = head_tiles_map(k, a.k, a.shape, T::N)) return error;
  if (const cudaError_t error = head_tiles_map(v, a.v, a.shape, T::N)) return error;
  if (const cudaError_t error = head_tiles_map(dout, a.dout, a.shape, T::M)) return error;
  if (const cudaError_t error =
          launch("row_terms", row_terms<D>, dim3(heads, tiles * T::ROW_BLOCKS), ROW_THREADS, 0, a.stream, w.out, a.dout,
                 a.v, w.L, w.terms, w.bounds, reinterpret_cast<float4*>(w.dq_sum), S))
    return error;
  if (const cudaError_t error =
          launch("gradients", gradients<D>, dim3(together * split, ceil_div(S, T::N), ceil_div(heads, together)),
                 THREADS, smem.bytes, a.stream, q, k, v, dout, w.terms, w.bounds, w.units, w.dq_sum, a.dk, a.dv,
                 w.dk_parts, w.dv_parts, split, heads, S, a.scale, a.shape.causal))
    return error;
  return launch("round_sums", round_sums<D>, dim3(heads, tiles * SUM_BLOCKS, split > 1 ? 3 : 1), DQ_PARTS * GROUP, 0,
                a.stream, w.dq_sum, w.units, w.dk_parts, w.dv_parts, a.dq, a.dk, a.dv, split, heads, S, a.scale);
}

}  // namespace

const lab::BackwardStageInfo& lab::backward_stage() {
  static const BackwardStageInfo info{
      stage_name(), by_head_dim<launch_gradients<64>, launch_gradients<128>>, workspace, Tile<64>::M, Tile<64>::N,
      true,         by_head_dim<save_forward<64>, save_forward<128>>};
  return info;
}
