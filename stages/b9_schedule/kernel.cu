// B9: the same bits in every run, and as fast. A small problem's blocks store their parts of dQ apart, as they do with
// dK and dV since b8, and the last kernel adds them up in the order of the keys. Otherwise blocks add in turns, as in b6,
// by a schedule: no two blocks of a head are at the same query rows at the same time. Turns have a warpgroup of their own.
//
//   P = exp(s - L)     dP = dO V^T     dS = P (dP - delta)     dQ = scale dS K     dK = scale dS^T Q     dV = P^T dO
//
// One kernel computes each row's delta = dO·O and L log2 e, one the gradients; a last one rounds sums. All start early (b8).
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "common/attention_backward.hpp"
#include "common/backward/forward_pass.cuh"
#include "common/backward/row_kernels.cuh"
#include "common/backward/schedule.hpp"
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
constexpr int GROUPS = 2;   // of keys; one more makes dQ, and one requests tiles, waits for turns and passes them on
constexpr int THREADS = (GROUPS + 2) * GROUP;
constexpr int REGISTERS = 208, DQ_REGISTERS = 72,
              LAST_REGISTERS = 24;      // per thread of a warpgroup: of keys; of dQ; last
constexpr int GROUP_KEYS = 64;          // rows of a warpgroup's products
constexpr int STRIPE = 16;              // of those, a warp's
constexpr int N = GROUPS * GROUP_KEYS;  // keys per block
constexpr int SLOTS = 3;                // of query tiles: one is used, one is there, one is on its way
constexpr int SUM_BLOCKS = 4;           // that round a tile of sums, some columns each
constexpr int PLACES = SLOTS + 1;       // a warp may read the oldest while a request writes the next
constexpr int HELD = 48;                // keys whose K^T stays in registers as an operand of dQ^T
template <int D>
constexpr int M = D == 64 ? 128 : 64;  // query rows per tile
template <int D>
constexpr int BLOCK_TILES = N / M<D>;  // query tiles to a query block, which has as many rows as a key block has keys
constexpr int TILE = DQ_SQUARES * DQ_SIZE;  // elements of a tile of Q
static_assert(TILE == M<64> * 64 && TILE == M<128> * 128, "the squares of dQ make a whole tile");

// --- shared memory ---------------------------------------------------------------------------------------
template <int D>
struct Smem {
  alignas(1024) half K[D / SLAB][N][SLAB], V[D / SLAB][N][SLAB];  // dK and dV take their places at the end
  alignas(1024) half Q[SLOTS][D / SLAB][M<D>][SLAB], dO[SLOTS][D / SLAB][M<D>][SLAB];
  alignas(1024) half dS[2][N / SLAB][M<D>][SLAB];  // that of a tile is still read while that of the next is written
  alignas(1024) float terms[SLOTS][2][M<D>];       // L log2 e, then delta, of each query row
  int places[PLACES];                              // of the query tiles: which it is, ~ where no block has added before
  ptx::MBarrier keys_full, full[SLOTS];            // of K and V; of each slot
  ptx::MBarrier ds_full[2], ds_empty[2];           // of each dS
  ptx::MBarrier turn_come[2], added[2], turn_passed[2];  // of every other query block
};
static_assert(sizeof(Smem<64>) <= 227 * 1024 && sizeof(Smem<128>) <= 227 * 1024, "what sm_90 gives a block");

// --- L log2 e and delta of each query row, bounds of dS, zeros for the turns ---------------------------
template <int M, int D>
__global__ void __launch_bounds__(ROW_THREADS)
    row_terms(const half* out, const half* dout, const half* v, const float* L, float* __restrict__ terms,
              float2* __restrict__ bounds, unsigned* __restrict__ turns, int S) {
  ptx::grid_dependency_wait();
  ptx::launch_dependents();
  find_row_terms<M, D>(out, dout, v, L, terms, bounds, nullptr, S);
  const std::size_t block = blockIdx.x * std::size_t(gridDim.y) + blockIdx.y;
  if (threadIdx.x == 0 && block % ROW_BLOCKS<M, D> == 0) turns[block / ROW_BLOCKS<M, D>] = 0;
}

// --- all gradients: a block for N keys and, of `parts` that share them, for its part of the query tiles -----------
template <int D>
__global__ void __launch_bounds__(THREADS, 1)
    gradients(const __grid_constant__ CUtensorMap q, const __grid_constant__ CUtensorMap k,
              const __grid_constant__ CUtensorMap v, const __grid_constant__ CUtensorMap dout, const float* terms,
              const float2* bounds, float* __restrict__ units, float* __restrict__ dq_sum, unsigned* __restrict__ turns,
              half* __restrict__ dk, half* __restrict__ dv, float* __restrict__ dk_parts, float* __restrict__ dv_parts,
              int parts, bool apart, Schedule schedule, int heads, int S, float scale) {  // heads: B * H
  constexpr int M = ::M<D>, BLOCK_TILES = ::BLOCK_TILES<D>;
  extern __shared__ __align__(1024) unsigned char shared[];
  Smem<D>& smem = *reinterpret_cast<Smem<D>*>(shared);

  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, group = __shfl_sync(FULL_WARP, threadIdx.x / GROUP, 0);
  const int quad_row = lane / 4, first_column = lane % 4 * 2;         // the lane's, in each 8x8 of an accumulator
  const auto [near, key_block] = schedule.block(blockIdx.x / parts);  // blocks start in the order of their index
  const int part = blockIdx.x % parts, head = blockIdx.y * schedule.together + near;
  if (head >= heads) return;
  const int k0 = key_block * N, first_key = warp * STRIPE;  // of this block; of this warp, within the block's
  const int all_tiles = schedule.n * BLOCK_TILES,
            own_tiles = (schedule.causal ? schedule.n - key_block : schedule.n) * BLOCK_TILES;
  const int sharing = min(parts, own_tiles);  // a part has a tile at least
  if (part >= sharing) return;
  const int first = own_tiles * part / sharing, tiles = own_tiles * (part + 1) / sharing - first;
  terms += std::size_t(head) * all_tiles * 2 * M;
  turns += std::size_t(head) * all_tiles;
  dq_sum += (apart ? std::size_t(key_block) * heads + head : head) * all_tiles * M * D + threadIdx.x % GROUP * 4;
  dk += std::size_t(head) * S * D, dv += std::size_t(head) * S * D;
  bounds += std::size_t(head) * all_tiles * ROW_BLOCKS<M, D>;
  const float scale_log2 = scale * LOG2_E;  // exp(scale s - L) is 2^(scale_log2 s - L log2 e)

  // --- Prologue: the barriers, K, V and the first tiles on their way -----------------------------------------
  // By one thread: query tile t of this block's into its slot, which all warps are done with.
  const auto request = [&](int t) {
    if (t >= tiles) return;
    const int slot = t % SLOTS, query = schedule.query(key_block, (first + t) / BLOCK_TILES);
    const int tile = query * BLOCK_TILES + (first + t) % BLOCK_TILES, row = tile * M;
    smem.places[t % PLACES] = schedule.before(key_block, query) == 0 ? ~tile : tile;
    ptx::mbarrier_arrive_expect_tx(smem.full[slot], sizeof smem.Q[0] + sizeof smem.dO[0] + sizeof smem.terms[0]);
    ptx::tma_load_4d(smem.Q[slot], q, 0, row, 0, head, smem.full[slot]);
    ptx::bulk_load(smem.terms[slot], terms + row * 2, sizeof smem.terms[0], smem.full[slot]);
    ptx::tma_load_4d(smem.dO[slot], dout, 0, row, 0, head, smem.full[slot]);
  };
  float2 bound = {};  // of dS; the warps that need it find it while another one requests
  if (threadIdx.x == (GROUPS + 1) * GROUP) {
    ptx::mbarrier_init(smem.keys_full, 1);
    for (int slot = 0; slot < SLOTS; ++slot) ptx::mbarrier_init(smem.full[slot], 1);
    for (int i = 0; i < 2; ++i) {
      ptx::mbarrier_init(smem.ds_full[i], GROUPS * 4), ptx::mbarrier_init(smem.ds_empty[i], 4);
      ptx::mbarrier_init(smem.turn_come[i], 1), ptx::mbarrier_init(smem.added[i], 4);
      ptx::mbarrier_init(smem.turn_passed[i], 1);
    }
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

  // --- The last warpgroup: a warp requests tiles, one waits for turns to add to dQ, one passes them on -------
  const int turns_to_take = apart ? 0 : own_tiles / BLOCK_TILES;
  if (group == GROUPS + 1) {
    ptx::registers_release<LAST_REGISTERS>();
    if (lane != 0) return;
    if (warp % 4 == 0)
      for (int t = 0; t + 2 < tiles; ++t) {
        ptx::mbarrier_wait(smem.ds_full[t % 2], t / 2 % 2);
        request(t + 2);  // both are done with tile t - 1
      }
    if (warp % 4 == 1)
      for (int i = 0; i < turns_to_take; ++i) {
        const int query = schedule.query(key_block, i);
        while (ptx::ld_acquire_gpu(turns + query * BLOCK_TILES) != unsigned(schedule.before(key_block, query)))
          continue;
        if (i >= 2) ptx::mbarrier_wait(smem.turn_passed[i % 2], (i - 2) / 2 % 2);
        ptx::mbarrier_arrive(smem.turn_come[i % 2]);
      }
    if (warp % 4 == 2)
      for (int i = 0; i < turns_to_take; ++i) {
        ptx::mbarrier_wait(smem.added[i % 2], i / 2 % 2);
        ptx::red_release_gpu_add(turns + schedule.query(key_block, i) * BLOCK_TILES, 1);
        ptx::mbarrier_arrive(smem.turn_passed[i % 2]);
      }
    return;
  }
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
      const int place = smem.places[t % PLACES];
      float* const sums = dq_sum + max(place, ~place) * M * D;
      const int turn = t / BLOCK_TILES;  // of this block's turns, from 0 on
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
        if (!apart && square == 0 && t % BLOCK_TILES == 0) ptx::mbarrier_wait(smem.turn_come[turn % 2], turn / 2 % 2);
        ptx::wgmma_wait<0>();
        ptx::fence_registers(dQ), ptx::fence_registers(held);
        __syncwarp();
        if (square == DQ_SQUARES - 1 && lane == 0) ptx::mbarrier_arrive(smem.ds_empty[t % 2]);
        // Four accumulators of each lane side by side, as one addition takes them; round_sums puts them in place.
        float* const to = sums + square * DQ_SIZE;
        if (apart || place < 0)
          store_part(to, dQ);
        else
#pragma unroll
          for (int n = 0; n < DQ_ROWS / 8; ++n) ptx::red_add_v4(to + n * 4 * GROUP, dQ[n]);
      }
      if (apart || (t + 1) % BLOCK_TILES != 0) continue;
      __syncwarp();
      if (lane == 0) ptx::mbarrier_arrive(smem.added[turn % 2]);
    }
    if (parts == 1) ptx::barrier_arrive(1, (GROUPS + 1) * GROUP);
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
    const int place = smem.places[t % PLACES], q0 = max(place, ~place) * M;
    if (q0 + M > S || k0 + N > S || (schedule.causal && q0 < k0 + N - 1) || unit != 1.0f) {
#pragma unroll
      for (int m = 0; m < M / 8; ++m)
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          const int row = q0 + 8 * m + first_column + e % 2;
          const int last_key = row >= S ? -1 : schedule.causal ? row : S - 1;  // that the row sees
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
  ptx::barrier_sync(1, (GROUPS + 1) * GROUP);  // all are done with K and V
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
               half* __restrict__ dq, half* __restrict__ dk, half* __restrict__ dv, int parts, bool apart, int heads,
               int S, float scale, bool causal) {
  ptx::grid_dependency_wait();
  ptx::launch_dependents();
  constexpr int M = ::M<D>, COLUMNS = DQ_COLS / 8 / SUM_BLOCKS;  // of a square, eights of them, by a block
  const int tile = blockIdx.y / SUM_BLOCKS, tiles = gridDim.y / SUM_BLOCKS, head = blockIdx.x;  // y and z end at 65535
  const int square = threadIdx.x / GROUP, first = blockIdx.y % SUM_BLOCKS * COLUMNS, gradient = blockIdx.z;
  const int row = tile * M + (D == 64 ? square * DQ_ROWS : 0), column = D == 64 ? 0 : square * DQ_COLS;
  const std::size_t at = ((std::size_t(head) * tiles + tile) * DQ_SQUARES + square) * DQ_SIZE,
                    head_at = std::size_t(head) * S * D, stride = std::size_t(heads) * tiles * M * D;
  // Parts of dQ: under a causal mask the tile's own keys are the last that have stored one.
  const int dq_parts = !apart ? 1 : (causal ? tile : tiles - 1) * M / N + 1;
  const int seen = causal ? tiles - tile / BLOCK_TILES<D> * BLOCK_TILES<D> : tiles;  // by these keys
  if (gradient == 0)
    round_transposed<D>(dq_sum + at, dq_parts, stride, first, dq + head_at, row, column, S, scale * units[head]);
  else
    round_square<D>((gradient == 1 ? dk_parts : dv_parts) + at, min(parts, seen), stride, first,
                    (gradient == 1 ? dk : dv) + head_at, row, column, S, gradient == 1 ? scale * units[head] : 1.0f);
}

// --- workspace -------------------------------------------------------------------------------------------
struct Workspace {
  half* out;                   // [B, H, S, D], which the forward pass has saved
  float* L;                    // [B, H, S], it too
  float* terms;                // [B, H, tiles, 2, M]
  float2* bounds;              // [B, H, tiles, ROW_BLOCKS]
  float* units;                // [B, H]
  float* dq_sum;               // [B, H, tiles, M * D]; apart: [key blocks] of these
  unsigned* turns;             // [B, H, tiles]: how many blocks have added; a query block has those of its first tile
  bool apart;                  // whether parts of dQ are stored apart
  int parts;                   // blocks that share the queries of a key block
  float *dk_parts, *dv_parts;  // [parts][B, H, tiles, M * D] each, where parts is more than 1
  std::size_t end;
};

Workspace parts_of(const void* workspace, const Shape& s) {
  Parts parts(workspace);
  const int key_blocks = ceil_div(s.S, N), tiles = key_blocks * (s.D == 64 ? BLOCK_TILES<64> : BLOCK_TILES<128>);
  const std::size_t heads = std::size_t(s.B) * s.H, elements = heads * tiles * TILE,
                    small = small_parts(key_blocks, heads, tiles), of_parts = small > 1 ? small * elements : 0;
  return {parts.take<half>(s.elements()),
          parts.take<float>(s.rows()),
          parts.take<float>(elements / s.D * 2),
          parts.take<float2>(heads * tiles * ROW_BLOCKS<M<64>, 64>),
          parts.take<float>(heads),
          parts.take<float>(elements * (small ? key_blocks : 1)),
          parts.take<unsigned>(heads * tiles),
          small > 0,
          int(std::max<std::size_t>(small, 1)),
          parts.take<float>(of_parts),
          parts.take<float>(of_parts),
          parts.end()};
}

// --- launcher --------------------------------------------------------------------------------------------
int count_multiprocessors() {
  int device = 0, count = 0;
  cudaGetDevice(&device), cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device);
  return count;
}

template <int D>
cudaError_t launch(const BackwardArgs& a) {
  constexpr int M = ::M<D>, BYTES = sizeof(Smem<D>);
  const auto [B, H, S, _, causal] = a.shape;
  const int heads = B * H, key_blocks = ceil_div(S, N), tiles = key_blocks * BLOCK_TILES<D>;
  const Workspace w = parts_of(a.workspace, a.shape);
  const Schedule schedule = schedule_of(key_blocks, heads, causal, !w.apart, count_multiprocessors());
  CUtensorMap q, k, v, dout;
  cudaError_t error = head_maps(a.shape, {{q, a.q, M}, {k, a.k, N}, {v, a.v, N}, {dout, a.dout, M}});
  if (!error) error = cudaFuncSetAttribute(gradients<D>, cudaFuncAttributeMaxDynamicSharedMemorySize, BYTES);
  if (!error)
    error = start_early<row_terms<M, D>>(dim3(heads, tiles * ROW_BLOCKS<M, D>), ROW_THREADS, 0, a.stream, w.out, a.dout,
                                         a.v, w.L, w.terms, w.bounds, w.turns, S);
  if (!error)
    error = start_early<gradients<D>>(
        dim3(key_blocks * schedule.together * w.parts, ceil_div(heads, schedule.together)), THREADS, BYTES, a.stream, q,
        k, v, dout, w.terms, w.bounds, w.units, w.dq_sum, w.turns, a.dk, a.dv, w.dk_parts, w.dv_parts, w.parts, w.apart,
        schedule, heads, S, a.scale);
  if (!error)
    error = start_early<round_sums<D>>(dim3(heads, tiles * SUM_BLOCKS, w.parts > 1 ? 3 : 1), DQ_SQUARES * GROUP, 0,
                                       a.stream, w.dq_sum, w.units, w.dk_parts, w.dv_parts, a.dq, a.dk, a.dv, w.parts,
                                       w.apart, heads, S, a.scale, causal);
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
