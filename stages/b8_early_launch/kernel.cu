// B8: small problems. Blocks share the queries of a key block: a small problem has fewer key blocks than the GPU has
// multiprocessors, so as many blocks as fit have the same keys, and a part of the queries each. Each block stores its
// parts of dK and dV as floats, and the kernel that rounds dQ adds them up, too. And a kernel starts before the one
// before it has ended, by programmatic dependent launch, as in v4c: its blocks initialise their barriers, and wait for
// the end of the kernel before they touch global memory, whose pointers are not __restrict__ where they read
// (common/ptx/grid_dependency.cuh). The main kernel alone does not let the next kernel start early: its blocks would all
// settle on the few multiprocessors that have room. Where the key blocks fill the GPU, the three kernels compute as b5.
//
//   P = exp(s - L)     dP = dO V^T     dS = P (dP - delta)     dQ = scale dS K     dK = scale dS^T Q     dV = P^T dO
//
// The forward pass has saved O and L. One kernel computes, for each row, delta = dO·O and L log2 e. The main kernel
// adds its parts of dQ to fp32 sums, which lie in the order of the accumulators. A last kernel rounds the sums to fp16.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <algorithm>

#include "common/attention_backward.hpp"
#include "common/backward/forward_pass.cuh"
#include "common/backward/row_kernels.cuh"
#include "common/ds_unit.cuh"
#include "common/hopper/head_map.hpp"
#include "common/hopper/swizzle.cuh"
#include "common/ptx/barrier.cuh"
#include "common/ptx/ex2.cuh"
#include "common/ptx/grid_dependency.cuh"
#include "common/ptx/mbarrier.cuh"
#include "common/ptx/mma.cuh"
#include "common/ptx/reduce.cuh"
#include "common/ptx/tma.cuh"
#include "common/ptx/wgmma.cuh"
#include "common/tile.cuh"
#include "common/warp.cuh"

namespace {
using namespace lab;

// --- tile constants --------------------------------------------------------------------------------------
constexpr int GROUP = 128;  // threads of a warpgroup
constexpr int GROUPS = 2;   // of keys; one more makes dQ
constexpr int THREADS = (GROUPS + 1) * GROUP;
constexpr int REGISTERS = 208, DQ_REGISTERS = 88;  // per thread of a warpgroup of keys; of dQ
constexpr int GROUP_KEYS = 64;                     // rows of a warpgroup's products
constexpr int STRIPE = 16;                         // of those, a warp's
constexpr int N = GROUPS * GROUP_KEYS;             // keys per block
constexpr int SLOTS = 3;                           // of query tiles: one is used, one is there, one is on its way
constexpr int HELD = 64;                           // keys whose K^T stays in registers as an operand of dQ^T
constexpr int SUM_BLOCKS = 4;                      // that round a tile of sums, some columns each
template <int D>
constexpr int M = D == 64 ? 128 : 64;  // query rows per tile
template <int D>
constexpr int BLOCKS_TOGETHER = D == 64 ? 256 : 128;  // of as many heads as that takes, started alternately
static_assert(DQ_SQUARES * DQ_SIZE == M<64> * 64 && DQ_SQUARES * DQ_SIZE == M<128> * 128,
              "the squares of dQ make a whole tile");

// --- shared memory ---------------------------------------------------------------------------------------
template <int D>
struct Smem {
  alignas(1024) half K[D / SLAB][N][SLAB], V[D / SLAB][N][SLAB];  // dK and dV take their places at the end
  alignas(1024) half Q[SLOTS][D / SLAB][M<D>][SLAB], dO[SLOTS][D / SLAB][M<D>][SLAB];
  alignas(1024) half dS[2][N / SLAB][M<D>][SLAB];  // that of a tile is still read while that of the next is written
  alignas(1024) float terms[SLOTS][2][M<D>];       // L log2 e, then delta, of each query row
  ptx::MBarrier keys_full, full[SLOTS];            // of K and V; of each slot
  ptx::MBarrier ds_full[2], ds_empty[2];           // of each dS
};
static_assert(sizeof(Smem<64>) <= 227 * 1024 && sizeof(Smem<128>) <= 227 * 1024, "what sm_90 gives a block");

// --- L log2 e and delta of each query row, bounds of dS, and zeros for dQ's sums ---------------------------
template <int M, int D>
__global__ void __launch_bounds__(ROW_THREADS)
    row_terms(const half* out, const half* dout, const half* v, const float* L, float* __restrict__ terms,
              float2* __restrict__ bounds, float* __restrict__ dq_sum, int S) {
  ptx::grid_dependency_wait();
  ptx::launch_dependents();
  find_row_terms<M, D>(out, dout, v, L, terms, bounds, dq_sum, S);
}

// --- all gradients: a block for N keys and, of `parts` that share them, for its part of the query tiles -----------
template <int D>
__global__ void __launch_bounds__(THREADS, 1)
    gradients(const __grid_constant__ CUtensorMap q, const __grid_constant__ CUtensorMap k,
              const __grid_constant__ CUtensorMap v, const __grid_constant__ CUtensorMap dout, const float* terms,
              const float2* bounds, float* __restrict__ units, float* __restrict__ dq_sum, half* __restrict__ dk,
              half* __restrict__ dv, float* __restrict__ dk_parts, float* __restrict__ dv_parts, int parts, int heads,
              int S, float scale, bool causal) {  // heads: B * H
  constexpr int M = ::M<D>;
  extern __shared__ __align__(1024) unsigned char shared[];
  Smem<D>& smem = *reinterpret_cast<Smem<D>*>(shared);

  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, group = __shfl_sync(FULL_WARP, threadIdx.x / GROUP, 0);
  const int quad_row = lane / 4, first_column = lane % 4 * 2;  // the lane's, in each 8x8 of an accumulator
  // The first keys of several heads come first: under a causal mask their blocks have the most to do.
  const int part = blockIdx.x % parts, head = (blockIdx.z * gridDim.x + blockIdx.x) / parts;
  if (head >= heads) return;
  const int k0 = blockIdx.y * N, first_key = warp * STRIPE;  // of this block; of this warp, within the block's
  const int all_tiles = ceil_div(S, M), unseen = causal ? k0 / M : 0;  // no earlier row sees a key of this block
  const int seen = all_tiles - unseen, sharing = min(parts, seen);     // a part has a tile at least
  if (part >= sharing) return;
  const int first_tile = unseen + seen * part / sharing, tiles = unseen + seen * (part + 1) / sharing - first_tile;
  terms += (std::size_t(head) * all_tiles + first_tile) * 2 * M;
  dq_sum += (std::size_t(head) * all_tiles + first_tile) * M * D + threadIdx.x % GROUP * 4;
  dk += std::size_t(head) * S * D, dv += std::size_t(head) * S * D;
  bounds += std::size_t(head) * all_tiles * ROW_BLOCKS<M, D>;
  const float scale_log2 = scale * LOG2_E;  // exp(scale s - L) is 2^(scale_log2 s - L log2 e)

  // --- Prologue: the barriers, K, V and the first tiles on their way -----------------------------------------
  // By one thread: query tile t of this block's into its slot, which all warps are done with.
  const auto request = [&](int t) {
    if (t >= tiles) return;
    const int slot = t % SLOTS, row = (first_tile + t) * M;
    ptx::mbarrier_arrive_expect_tx(smem.full[slot], sizeof smem.Q[0] + sizeof smem.dO[0] + sizeof smem.terms[0]);
    ptx::tma_load_4d(smem.Q[slot], q, 0, row, 0, head, smem.full[slot]);
    ptx::bulk_load(smem.terms[slot], terms + t * 2 * M, sizeof smem.terms[0], smem.full[slot]);
    ptx::tma_load_4d(smem.dO[slot], dout, 0, row, 0, head, smem.full[slot]);
  };
  float2 bound = {};  // of dS; the warps that need it find it while another one requests
  if (threadIdx.x == GROUPS * GROUP) {
    ptx::mbarrier_init(smem.keys_full, 1);
    for (int slot = 0; slot < SLOTS; ++slot) ptx::mbarrier_init(smem.full[slot], 1);
    for (int i = 0; i < 2; ++i)
      ptx::mbarrier_init(smem.ds_full[i], GROUPS * 4), ptx::mbarrier_init(smem.ds_empty[i], 4);
    ptx::fence_mbarrier_init();
    ptx::grid_dependency_wait();
    ptx::mbarrier_arrive_expect_tx(smem.keys_full, sizeof smem.K + sizeof smem.V);
    ptx::tma_load_4d(smem.K, k, 0, k0, 0, head, smem.keys_full);
    ptx::tma_load_4d(smem.V, v, 0, k0, 0, head, smem.keys_full);
    request(0), request(1);
  }
  if (group < GROUPS) ptx::grid_dependency_wait(), bound = largest_bound(bounds, all_tiles * ROW_BLOCKS<M, D>);
  __syncthreads();
  const float unit = ds_unit(bound), inverse = inverse_unit(unit);
  if (threadIdx.x == 0 && part == 0 && k0 == 0) units[head] = unit;  // by one block, for the last kernel
  ptx::mbarrier_wait(smem.keys_full, 0);

  // --- The third warpgroup: dQ of each tile, from this block's keys -----------------------------------------
  if (group == GROUPS) {
    ptx::registers_release<DQ_REGISTERS>();
    // dQ^T = K^T dS^T, in squares of 64: of query rows at D = 64; of dQ's columns at D = 128, K^T of the first held.
    unsigned held[HELD / 16][4];
#pragma unroll
    for (int n = 0; n < HELD; n += 16)
      ptx::ldmatrix_x4_trans(held[n / 16],
                             swizzled(smem.K, n + lane / 16 * 8 + lane % 8, warp % 4 * STRIPE + lane / 8 % 2 * 8));
    for (int t = 0; t < tiles; ++t) {
      ptx::mbarrier_wait(smem.ds_full[t % 2], t / 2 % 2);
      if (threadIdx.x % GROUP == 0) request(t + 2);  // both are done with tile t - 1
#pragma unroll
      for (int square = 0; square < DQ_SQUARES; ++square) {
        const int row = D == 64 ? square * DQ_ROWS : 0, column = D == 64 ? 0 : square * DQ_COLS;
        float dQ[DQ_ROWS / 8][4];
        ptx::wgmma_fence();  // A [64][N] MN-major, or from registers, and B [N][64] K-major
#pragma unroll
        for (int n = 0; n < N; n += 16) {
          const ptx::Descriptor b = ptx::descriptor(smem.dS[t % 2], row, n);
          if (n < HELD && column == 0)
            ptx::wgmma<ptx::K_MAJOR>(dQ, held[n / 16], b, n > 0);
          else
            ptx::wgmma<ptx::K_MAJOR, ptx::MN_MAJOR>(dQ, ptx::descriptor(smem.K, n, column), b, n > 0);
        }
        ptx::wgmma_commit();
        ptx::wgmma_wait<0>();
        ptx::fence_registers(dQ), ptx::fence_registers(held);
        if (square == DQ_SQUARES - 1) {
          __syncwarp();
          if (lane == 0) ptx::mbarrier_arrive(smem.ds_empty[t % 2]);
        }
        // Four accumulators of each lane side by side, as one addition takes them; round_sums puts them in place.
#pragma unroll
        for (int n = 0; n < DQ_ROWS / 8; ++n)
          ptx::red_add_v4(dq_sum + t * M * D + square * DQ_SIZE + n * 4 * GROUP, dQ[n]);
      }
    }
    if (parts == 1) ptx::barrier_arrive(1, THREADS);
    return;
  }
  ptx::registers_take<REGISTERS>();

  // The m64nN accumulator layout: of the warp's row quad_row + 8 h, columns 8 n + first_column and the next are
  // [n][2 h] and [n][2 h + 1].
  float s[M / 8][4], dp[M / 8][4];             // S^T and dP^T, [64 keys][M queries]
  float dV[D / 8][4] = {}, dK[D / 8][4] = {};  // [64 keys][D]
  unsigned p[M / 16][4], ds[M / 16][4];        // P^T and dS^T as halves: A operands of 16 queries each
  using Keys = half[D / SLAB][N][SLAB];
  using Rows = half[D / SLAB][M][SLAB];
  const auto begin_scores = [&](float(&to)[M / 8][4], const Keys& keys, const Rows& rows) {
    ptx::wgmma_fence();  // S^T = K Q^T or dP^T = V dO^T: A [64][D] and B [D][M], both K-major
#pragma unroll
    for (int c = 0; c < D; c += 16)
      ptx::wgmma<ptx::K_MAJOR>(to, ptx::descriptor(keys, group * GROUP_KEYS, c), ptx::descriptor(rows, 0, c), c > 0);
    ptx::wgmma_commit();
  };
  const auto begin_weighted = [&](float(&to)[D / 8][4], const unsigned(&weights)[M / 16][4], const Rows& rows) {
    ptx::wgmma_fence();  // dV += P^T dO or dK += dS^T Q: A [64][M] from registers, B [M][D] MN-major
#pragma unroll
    for (int m = 0; m < M; m += 16) ptx::wgmma<ptx::MN_MAJOR>(to, weights[m / 16], ptx::descriptor(rows, m, 0));
    ptx::wgmma_commit();
  };
  float2 L[M / 8];                   // L log2 e of the lane's columns
  const auto begin_s = [&](int t) {  // S^T of tile t, once it is there; L is loaded meanwhile
    ptx::mbarrier_wait(smem.full[t % SLOTS], t / SLOTS % 2);
    begin_scores(s, smem.K, smem.Q[t % SLOTS]);
#pragma unroll
    for (int m = 0; m < M / 8; ++m)
      L[m] = *reinterpret_cast<const float2*>(&smem.terms[t % SLOTS][0][8 * m + first_column]);
  };

  // --- Mainloop: one query tile at a time -------------------------------------------------------------------
  begin_s(0);
  ptx::wgmma_wait<0>();
  ptx::fence_registers(s);
  for (int t = 0; t < tiles; ++t) {
    const int slot = t % SLOTS;

    // P^T = exp(S^T - L). Only a tile on the diagonal or at an end has anything to hide.
    const float* const delta = &smem.terms[slot][1][first_column];
#pragma unroll
    for (int m = 0; m < M / 8; ++m)
#pragma unroll
      for (int e = 0; e < 4; ++e) s[m][e] = fmaf(s[m][e], scale_log2, e % 2 == 0 ? -L[m].x : -L[m].y);
    const int q0 = (first_tile + t) * M;
    if (q0 + M > S || k0 + N > S || (causal && q0 < k0 + N - 1) || unit != 1.0f) {
#pragma unroll
      for (int m = 0; m < M / 8; ++m)
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          const int row = q0 + 8 * m + first_column + e % 2;
          const int last_key = row >= S ? -1 : causal ? row : S - 1;  // that the row sees
          if (k0 + first_key + quad_row + e / 2 * 8 > last_key) s[m][e] = -INFINITY;
        }
      if (unit != 1.0f) {  // then delta is divided by it, once for both warpgroups
        if (threadIdx.x < M) smem.terms[slot][1][threadIdx.x] *= inverse;
        ptx::barrier_sync(2, GROUPS * GROUP);
      }
    }
#pragma unroll
    for (int m = 0; m < M / 8; ++m)
#pragma unroll
      for (int e = 0; e < 4; ++e) s[m][e] = ptx::ex2(s[m][e]);
#pragma unroll
    for (int m = 0; m < M / 8; ++m)
#pragma unroll
      for (int h = 0; h < 2; ++h) p[m / 2][m % 2 * 2 + h] = half_pair(s[m][2 * h], s[m][2 * h + 1]);
    // Both behind the exponentials, whose registers dP^T takes: the other warpgroup keeps the tensor cores busy.
    begin_scores(dp, smem.V, smem.dO[slot]);
    begin_weighted(dV, p, smem.dO[slot]);
    ptx::wgmma_wait<0>();
    ptx::fence_registers(dp), ptx::fence_registers(dV), ptx::fence_registers(p);

    // dS^T = P^T (dP^T - delta) / unit, with P^T as rounded for dV, which turns into dS in shared memory.
#pragma unroll
    for (int m = 0; m < M / 8; ++m)
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const float2 weights = floats(p[m / 2][m % 2 * 2 + h]);
        ds[m / 2][m % 2 * 2 + h] = half_pair(weights.x * fmaf(dp[m][2 * h], inverse, -delta[8 * m]),
                                             weights.y * fmaf(dp[m][2 * h + 1], inverse, -delta[8 * m + 1]));
      }
    ptx::mbarrier_wait(smem.ds_empty[t % 2], t / 2 % 2 ^ 1);
    const int ds_row = lane / 16 * 8 + lane % 8, ds_key = first_key + lane / 8 % 2 * 8;  // the lane's, for stmatrix
#pragma unroll
    for (int m = 0; m < M; m += 16) ptx::stmatrix_x4_trans(swizzled(smem.dS[t % 2], m + ds_row, ds_key), ds[m / 16]);
    ptx::fence_proxy_async();
    __syncwarp();
    if (lane == 0) ptx::mbarrier_arrive(smem.ds_full[t % 2]);
    begin_weighted(dK, ds, smem.Q[slot]);
    begin_s(min(t + 1, tiles - 1));  // of the next tile; without a branch around a product in flight
    ptx::wgmma_wait<0>();
    ptx::fence_registers(dV), ptx::fence_registers(dK), ptx::fence_registers(ds), ptx::fence_registers(s);
  }

  // --- Epilogue: store the part as it is; or, where no other block has these keys, scale dK, round to fp16, store ---
  if (parts > 1) {
    const int key = k0 + group * GROUP_KEYS;
    if (key >= S) return;
    const std::size_t at = ((std::size_t(part) * heads + head) * all_tiles * M + key) * D + threadIdx.x % GROUP * 4;
    store_part(dk_parts + at, dK), store_part(dv_parts + at, dV);
    return;
  }
  ptx::barrier_sync(1, THREADS);  // all are done with K and V
#pragma unroll
  for (int h = 0; h < 2; ++h)
    for (int d = 0; d < D / 8; ++d) {
      const int key = first_key + quad_row + 8 * h, c = 8 * d + first_column;
      store2(swizzled(smem.K, key, c), dK[d][2 * h] * (scale * unit), dK[d][2 * h + 1] * (scale * unit));
      store2(swizzled(smem.V, key, c), dV[d][2 * h], dV[d][2 * h + 1]);
    }
  __syncwarp();
#pragma unroll
  for (int i = lane; i < STRIPE * (D / 8); i += 32) {
    const int key = first_key + i / (D / 8), c = i % (D / 8) * 8;
    if (k0 + key >= S) break;
    copy8(dk + std::size_t(k0 + key) * D + c, swizzled(smem.K, key, c), true);
    copy8(dv + std::size_t(k0 + key) * D + c, swizzled(smem.V, key, c), true);
  }
}

// --- dQ, dK and dV: the sums, scaled, rounded, and in place -----------------------------------------------
template <int D>
__global__ void __launch_bounds__(DQ_SQUARES* GROUP)
    round_sums(const float* dq_sum, const float* units, const float* dk_parts, const float* dv_parts,
               half* __restrict__ dq, half* __restrict__ dk, half* __restrict__ dv, int parts, int heads, int S,
               float scale, bool causal) {
  ptx::grid_dependency_wait();
  ptx::launch_dependents();
  constexpr int M = ::M<D>, COLUMNS = DQ_COLS / 8 / SUM_BLOCKS;  // of a square, eights of them, by a block
  const int tile = blockIdx.y / SUM_BLOCKS, tiles = gridDim.y / SUM_BLOCKS, head = blockIdx.x;  // y and z end at 65535
  const int square = threadIdx.x / GROUP, first = blockIdx.y % SUM_BLOCKS * COLUMNS,
            gradient = blockIdx.z;  // 0 dQ, 1 dK, 2 dV
  const int row = tile * M + (D == 64 ? square * DQ_ROWS : 0), column = D == 64 ? 0 : square * DQ_COLS;
  const std::size_t at = ((std::size_t(head) * tiles + tile) * DQ_SQUARES + square) * DQ_SIZE,
                    head_at = std::size_t(head) * S * D, stride = std::size_t(heads) * tiles * M * D;
  const int seen = causal ? tiles - tile * M / N * N / M : tiles;  // by these keys
  if (gradient == 0)
    round_transposed<D>(dq_sum + at, 1, stride, first, dq + head_at, row, column, S, scale * units[head]);
  else
    round_square<D>((gradient == 1 ? dk_parts : dv_parts) + at, min(parts, seen), stride, first,
                    (gradient == 1 ? dk : dv) + head_at, row, column, S, gradient == 1 ? scale * units[head] : 1.0f);
}

// --- workspace -------------------------------------------------------------------------------------------
// Blocks that share the queries of a key block: as many as leave each a multiprocessor of its own, where that makes
// the longest walk three tiles shorter at least, which is about what the parts of dK and dV cost (measured).
int parts_of_queries(const Shape& s) {
  int device = 0, multiprocessors = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
  const int tiles = ceil_div(s.S, s.D == 64 ? M<64> : M<128>);
  const int most = std::clamp(multiprocessors / std::max(ceil_div(s.S, N) * s.H * s.B, 1), 1, std::max(tiles, 1));
  return tiles - ceil_div(tiles, most) >= 3 ? most : 1;
}

struct Workspace {
  half* out;       // [B, H, S, D], which the forward pass has saved
  float* L;        // [B, H, S], it too
  float* terms;    // [B, H, tiles, 2, M]
  float2* bounds;  // [B, H, tiles, ROW_BLOCKS]
  float* units;    // [B, H]
  float* dq_sum;   // [B, H, tiles, M * D]
  int parts;
  float *dk_parts, *dv_parts;  // [parts][B, H, tiles, M * D] each, where parts is more than 1
  std::size_t end;
};

template <int D>
Workspace parts_of(const void* workspace, const Shape& s) {
  Parts parts(workspace);
  const std::size_t heads = std::size_t(s.B) * s.H, tiles = heads * ceil_div(s.S, M<D>);
  const int split = parts_of_queries(s);
  const std::size_t of_parts = split > 1 ? split * tiles * M<D> * D : 0;
  return {parts.take<half>(s.elements()),
          parts.take<float>(s.rows()),
          parts.take<float>(tiles * 2 * M<D>),
          parts.take<float2>(tiles * ROW_BLOCKS<M<D>, D>),
          parts.take<float>(heads),
          parts.take<float>(tiles * M<D> * D),
          split,
          parts.take<float>(of_parts),
          parts.take<float>(of_parts),
          parts.end()};
}
Workspace parts_of(const void* workspace, const Shape& s) {
  return s.D == 64 ? parts_of<64>(workspace, s) : parts_of<128>(workspace, s);
}

// --- launcher --------------------------------------------------------------------------------------------
template <int D>
cudaError_t launch(const BackwardArgs& a) {
  constexpr int M = ::M<D>, BYTES = sizeof(Smem<D>);
  const auto [B, H, S, _, causal] = a.shape;
  const int heads = B * H, tiles = ceil_div(S, M), key_blocks = ceil_div(S, N);
  const int together = std::clamp(BLOCKS_TOGETHER<D> / key_blocks, 1, heads);
  const Workspace w = parts_of<D>(a.workspace, a.shape);
  CUtensorMap q, k, v, dout;
  cudaError_t error = head_maps(a.shape, {{q, a.q, M}, {k, a.k, N}, {v, a.v, N}, {dout, a.dout, M}});
  if (!error) error = cudaFuncSetAttribute(gradients<D>, cudaFuncAttributeMaxDynamicSharedMemorySize, BYTES);
  if (!error)
    error = start_early<row_terms<M, D>>(dim3(heads, tiles * ROW_BLOCKS<M, D>), ROW_THREADS, 0, a.stream, w.out, a.dout,
                                         a.v, w.L, w.terms, w.bounds, w.dq_sum, S);
  if (!error)
    error = start_early<gradients<D>>(dim3(together * w.parts, key_blocks, ceil_div(heads, together)), THREADS, BYTES,
                                      a.stream, q, k, v, dout, w.terms, w.bounds, w.units, w.dq_sum, a.dk, a.dv,
                                      w.dk_parts, w.dv_parts, w.parts, heads, S, a.scale, causal);
  if (!error)
    error = start_early<round_sums<D>>(dim3(heads, tiles * SUM_BLOCKS, w.parts > 1 ? 3 : 1), DQ_SQUARES * GROUP, 0,
                                       a.stream, w.dq_sum, w.units, w.dk_parts, w.dv_parts, a.dq, a.dk, a.dv, w.parts,
                                       heads, S, a.scale, causal);
  return error;
}

}  // namespace

cudaError_t attention_backward_gradients(const half* q, const half* k, const half* v, const half* dout, half* dq,
                                         half* dk, half* dv, int B, int H, int S, int D, float scale, int causal,
                                         void* workspace, cudaStream_t stream) {
  const lab::BackwardArgs args{
      q, k, v, dout, dq, dk, dv, static_cast<float*>(workspace), {B, H, S, D, causal != 0}, scale, stream};
  if (const cudaError_t error = check(args)) return error;
  return D == 64 ? launch<64>(args) : launch<128>(args);
}

cudaError_t attention_backward(const half* q, const half* k, const half* v, const half* dout, half* dq, half* dk,
                               half* dv, int B, int H, int S, int D, float scale, int causal, void* workspace,
                               cudaStream_t stream) {
  const lab::Shape shape{B, H, S, D, causal != 0};
  const Workspace w = parts_of(workspace, shape);
  if (const cudaError_t error = lab::save_forward({q, k, v, w.out, shape, scale, stream}, w.L)) return error;
  return attention_backward_gradients(q, k, v, dout, dq, dk, dv, B, H, S, D, scale, causal, workspace, stream);
}

std::size_t attention_backward_workspace(int B, int H, int S, int D, int causal) {
  return parts_of(nullptr, {B, H, S, D, causal != 0}).end;
}
