// V3i: blocks that stay (a persistent kernel). The grid has only as many blocks as the GPU holds. Each takes one query
// tile of v3h's list after the other, the list alternately forwards and backwards; its producer requests the next K
// while the last products run. The output goes from registers to global memory: Q's place already belongs to the next
// tile. Under a mask the first groups of a block skip the tiles that only the others see.
//
//   for each K/V tile t:  my turn: s = Q K(t) and O = O + p V(t - 1) begin; your turn;
//                         s is there: p' = 2^(s - r) of the first keys;  O is there: p = p', and the other keys;
//                         sum(p) too large: r' = r + its exponent, p, l and O times 2^(r - r');  finally O / l
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cfloat>

#include "common/attention.hpp"
#include "common/block_order.hpp"
#include "common/hopper/head_map.hpp"
#include "common/hopper/lazy_reference.cuh"
#include "common/hopper/quad_store.cuh"
#include "common/ptx/barrier.cuh"
#include "common/ptx/mbarrier.cuh"
#include "common/ptx/tma.cuh"
#include "common/ptx/wgmma.cuh"
#include "common/softmax.cuh"
#include "common/tile.cuh"
#include "common/warp.cuh"

namespace {
using namespace lab;

// --- tile constants --------------------------------------------------------------------------------------
constexpr int GROUP = 128;               // threads of a warpgroup
constexpr float LARGEST_SUM = 32768.0f;  // of a lane's weights of a tile: then each of them fits a half
constexpr float LARGEST_FINITE = 1e30f;  // of the same: then a quad's sum is finite
constexpr double L2_SHARE = 32e6;        // bytes of an H200's L2 that K and V may fill
// Of an instance of the kernel: GROUPS consumer warpgroups, 64 query rows each, N keys at a time, SLOTS tiles of K and
// of V in shared memory. One more warpgroup is the producer.
// Registers per thread. All threads start alike, in steps of 8, and the others share out what the producer gives back. More than
// 240 are of no use, so a group that is alone starts with enough, and nothing is handed over.
constexpr int PRODUCER_REGISTERS = 24;
template <int GROUPS>
struct Registers {
  static constexpr int START = 65536 / ((GROUPS + 1) * GROUP) / 8 * 8;
  static constexpr int SHARE = (START * (GROUPS + 1) - PRODUCER_REGISTERS) / GROUPS / 8 * 8;
  static constexpr int TAKEN = SHARE < 240 ? SHARE : 240;
  static constexpr bool SHARED_OUT = TAKEN > START;
};

// --- shared memory ---------------------------------------------------------------------------------------
template <int D, int GROUPS, int N, int SLOTS>
struct Smem {
  alignas(1024) half Q[D / SLAB][GROUPS * 64][SLAB];  // swizzled, as K and V
  alignas(1024) half K[SLOTS][D / SLAB][N][SLAB];
  alignas(1024) half V[SLOTS][D / SLAB][N][SLAB];
  ptx::MBarrier q_full, q_empty, k_full[SLOTS], k_empty[SLOTS], v_full[SLOTS], v_empty[SLOTS];  // of Q; of each slot
};

template <int D, int GROUPS, int N, int SLOTS>
__global__ void __launch_bounds__((GROUPS + 1) * GROUP, 1)
    attention(const __grid_constant__ CUtensorMap q, const __grid_constant__ CUtensorMap k,
              const __grid_constant__ CUtensorMap v, half* __restrict__ out, int heads, int S, float scale,
              bool causal) {
  extern __shared__ __align__(1024) unsigned char shared[];
  auto& smem = *reinterpret_cast<Smem<D, GROUPS, N, SLOTS>*>(shared);
  constexpr int M = GROUPS * 64;  // query rows per block
  constexpr int EARLY = N / 2;    // keys weighed while O's product lasts
  static_assert(SLOTS * N >= M - 64, "the first group skips K before it gives its last V back");

  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  // Lane 0's for all: ptxas then knows that a warp's lanes agree, and keeps it in a uniform register.
  const int group = __shfl_sync(FULL_WARP, threadIdx.x / GROUP, 0);
  int q0 = 0, head = 0, tiles = 0;  // this block's piece of work: first query row; of all batches' heads; of K and V
  const int per_head = ceil_div(S, M);
  const auto take = [&](int piece) {
    const unsigned i = to_and_fro(piece, blockIdx.x, gridDim.x);
    if (i >= unsigned(per_head * heads)) return false;
    const BlockWork work = work_of(i, per_head, heads, over_all_heads(causal, S, D, heads, L2_SHARE));
    q0 = work.tile * M, head = work.head;
    tiles = ceil_div(causal ? min(S, q0 + M) : S, N);  // no row of the tile sees a later key
    return true;
  };

  // --- Prologue: the barriers ------------------------------------------------------------------------------
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(smem.q_full, 1), ptx::mbarrier_init(smem.q_empty, GROUPS * 4);
    for (int slot = 0; slot < SLOTS; ++slot) {
      ptx::mbarrier_init(smem.k_full[slot], 1), ptx::mbarrier_init(smem.k_empty[slot], GROUPS * 4);
      ptx::mbarrier_init(smem.v_full[slot], 1), ptx::mbarrier_init(smem.v_empty[slot], GROUPS * 4);
    }
    ptx::fence_mbarrier_init();
  }
  __syncthreads();
  unsigned before = 0;  // tiles of K, and of V, in earlier pieces: a piece goes on where the one before ended
  const auto slot_of = [&](int t) { return (before + t) % SLOTS; };
  const auto parity_of = [&](int t) { return (before + t) / SLOTS % 2; };  // of the phase in which t fills its slot

  // --- Producer: one thread asks for K, Q and V, piece by piece ---------------------------------------------
  if (group == GROUPS) {
    if constexpr (Registers<GROUPS>::SHARED_OUT) ptx::registers_release<PRODUCER_REGISTERS>();
    // Tile t into its slot, once all warps are done with the tile before. Parity 1 passes on a fresh barrier.
    const auto request = [&](const CUtensorMap& map, auto& tile, ptx::MBarrier& full, ptx::MBarrier& empty, int t) {
      ptx::mbarrier_wait(empty, parity_of(t) ^ 1);
      ptx::mbarrier_arrive_expect_tx(full, sizeof tile);
      ptx::tma_load_4d(tile, map, 0, t * N, 0, head, full);
    };
    if (threadIdx.x % GROUP == 0) {
      for (int piece = 0; take(piece); ++piece, before += tiles)
        for (int t = 0; t < tiles; ++t) {
          const auto slot = slot_of(t);
          request(k, smem.K[slot], smem.k_full[slot], smem.k_empty[slot], t);
          if (t == 0) {
            ptx::mbarrier_wait(smem.q_empty, piece % 2 ^ 1);
            ptx::mbarrier_arrive_expect_tx(smem.q_full, sizeof smem.Q);
            ptx::tma_load_4d(smem.Q, q, 0, q0, 0, head, smem.q_full);
          }
          request(v, smem.V[slot], smem.v_full[slot], smem.v_empty[slot], t);
        }
    }
    return;
  }

  // --- Consumers -------------------------------------------------------------------------------------------
  if constexpr (Registers<GROUPS>::SHARED_OUT) ptx::registers_take<Registers<GROUPS>::TAKEN>();
  // The m64nN accumulator layout: of the warp's row quad_row + 8 h, columns 8 n + first_column and the next are
  // [n][2 h] and [n][2 h + 1].
  const int first_row = warp * 16, quad_row = lane / 4, first_column = lane % 4 * 2;
  float s[N / 8][4];                        // scores, then weights, [64 rows][N keys]
  unsigned p[N / 16][4];                    // weights as halves: A operands of 16 keys each
  float o[D / 8][4];                        // O, [64 rows][D columns]
  const float scale_log2 = scale * LOG2_E;  // exp(scale x) is 2^(scale_log2 x)
  const auto begin_qk = [&](int t) {        // s = Q K^T: A [64][D] and B [D][N], both K-major, from shared memory
    const auto slot = slot_of(t);
    ptx::mbarrier_wait(smem.k_full[slot], parity_of(t));
    ptx::wgmma_fence();
#pragma unroll
    for (int c = 0; c < D; c += 16)
      ptx::wgmma<ptx::K_MAJOR>(s, ptx::descriptor(smem.Q, group * 64, c), ptx::descriptor(smem.K[slot], 0, c), c > 0);
    ptx::wgmma_commit();
  };
  const auto begin_pv = [&](int t) {  // o += P V: A [64][N] from registers, B [N][D] MN-major
    const auto slot = slot_of(t);
    ptx::mbarrier_wait(smem.v_full[slot], parity_of(t));
    ptx::wgmma_fence();
#pragma unroll
    for (int n = 0; n < N; n += 16) ptx::wgmma<ptx::MN_MAJOR>(o, p[n / 16], ptx::descriptor(smem.V[slot], n, 0));
    ptx::wgmma_commit();
  };
  // A tile that the warp does not need. Its slot is given back all the same: it is filled again when all have done so.
  const auto skip = [&](ptx::MBarrier& full, ptx::MBarrier& empty, int t) {
    ptx::mbarrier_wait(full, parity_of(t));
    __syncwarp();  // a lane that has not looked yet could come a round of the ring too late
    if (lane == 0) ptx::mbarrier_arrive(empty);
  };
  // Barrier 2 + i is the turn of group i. The first turn is group 0's. A group that is alone takes none.
  const auto wait_for_turn = [&] {
    if constexpr (GROUPS > 1) ptx::barrier_sync(2 + group, 2 * GROUP);
  };
  const auto hand_on_turn = [&] {
    if constexpr (GROUPS > 1) ptx::barrier_arrive(2 + (group + 1) % GROUPS, 2 * GROUP);
  };
  if (group == GROUPS - 1) hand_on_turn();

  for (int piece = 0; take(piece); ++piece, before += tiles) {
    ptx::mbarrier_wait(smem.q_full, piece % 2);
    // Tiles that its rows see: under a mask, and where M > N, the first group may need fewer than the last.
    const int own_tiles = causal ? ceil_div(min(S, q0 + (group + 1) * 64), N) : tiles;
#pragma unroll
    for (auto& column : o) column[0] = column[1] = column[2] = column[3] = 0.0f;
    float row_max[2] = {-FLT_MAX, -FLT_MAX};  // the score of weight 1; not -inf: -inf - -inf is NaN
    float row_sum[2] = {};                    // of the lane's own columns only
    float reference[2] = {};                  // row_max times scale_log2, from the first tile on

    // --- Mainloop: one K/V tile at a time --------------------------------------------------------------------
    for (int t = 0; t < own_tiles; ++t) {
      wait_for_turn();
      begin_qk(t);
      if (t > 0)
        begin_pv(t - 1);
      else
        ptx::wgmma_fence(), ptx::wgmma_commit();  // of nothing: the wait counts groups
      hand_on_turn();
      ptx::wgmma_wait<1>();
      ptx::fence_registers(s);

      // Only a tile on the diagonal or at the end of the keys has anything to hide.
      const auto hide = [&] {
        if ((t + 1) * N > S || (causal && (t + 1) * N > q0 + first_row + 1))
          hide_keys(s, q0 + first_row + quad_row, t * N + first_column, S, causal);
      };

      float sum[2] = {};
      hide();
      if (t > 0) weigh(s, sum, scale_log2, reference, 0, EARLY);
      ptx::wgmma_wait<0>();
      ptx::fence_registers(o), ptx::fence_registers(p);
      if (t > 0) {
        if (lane == 0) ptx::mbarrier_arrive(smem.v_empty[slot_of(t - 1)]);
        pack(p, s, 0, EARLY);
        weigh(s, sum, scale_log2, reference, EARLY, N);
        pack(p, s, EARLY, N);
      }

      // The reference -inf makes weights infinite or NaN: they fail both checks.
      const bool fits = t > 0 && sum[0] <= LARGEST_SUM && sum[1] <= LARGEST_SUM;
      const bool finite = t > 0 && sum[0] <= LARGEST_FINITE && sum[1] <= LARGEST_FINITE;
      if (!__all_sync(FULL_WARP, fits)) {
        if (__all_sync(FULL_WARP, finite)) {
          raise_reference(scale_log2, s, o, row_max, row_sum, reference, sum), pack(p, s);
        } else {
          if (t > 0) score_by_warp(s, smem.Q, smem.K[slot_of(t)], first_row, lane), hide();
          weigh_anew(scale_log2, s, o, row_max, row_sum, reference, sum), pack(p, s);
        }
      }
      row_sum[0] += sum[0], row_sum[1] += sum[1];
      if (lane == 0) ptx::mbarrier_arrive(smem.k_empty[slot_of(t)]);
    }
    begin_pv(own_tiles - 1);
    if (lane == 0) ptx::mbarrier_arrive(smem.q_empty);
    for (int t = own_tiles; t < tiles; ++t)
      wait_for_turn(), hand_on_turn(), skip(smem.k_full[slot_of(t)], smem.k_empty[slot_of(t)], t);

    // --- Epilogue: wait for O, add up the quad's sums, normalise, round to fp16, store ---------------------------
    ptx::wgmma_wait<0>();
    ptx::fence_registers(o), ptx::fence_registers(p);
    for (int t = own_tiles - 1; t < tiles; ++t) skip(smem.v_full[slot_of(t)], smem.v_empty[slot_of(t)], t);
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const float norm = 1.0f / quad_sum(row_sum[h]);
      const int row = q0 + first_row + quad_row + 8 * h;
      store_row(out + (std::size_t(head) * S + row) * D, row, S, o, h, norm, lane);
    }
  }
  if (group == 0) wait_for_turn();  // the last turn is left
}

// --- launcher --------------------------------------------------------------------------------------------
int count_multiprocessors() {
  int device = 0, count = 0;
  cudaGetDevice(&device), cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device);
  return count;
}

template <int D, int GROUPS, int N, int SLOTS>
cudaError_t launch(const AttentionArgs& a) {
  constexpr int BYTES = sizeof(Smem<D, GROUPS, N, SLOTS>), THREADS = (GROUPS + 1) * GROUP, M = GROUPS * 64;
  static_assert(BYTES <= 227 * 1024, "what sm_90 gives a block");
  const auto kernel = attention<D, GROUPS, N, SLOTS>;
  CUtensorMap q, k, v;
  if (const cudaError_t error = head_maps(a.shape, {{q, a.q, M}, {k, a.k, N}, {v, a.v, N}})) return error;
  if (const cudaError_t error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, BYTES))
    return error;
  int at_once = 0;  // blocks on a multiprocessor
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&at_once, kernel, THREADS, BYTES);
  const int heads = a.shape.B * a.shape.H, pieces = ceil_div(a.shape.S, M) * heads;
  const int blocks = std::min(pieces, count_multiprocessors() * at_once);
  kernel<<<blocks, THREADS, BYTES, a.stream>>>(q, k, v, a.out, heads, a.shape.S, a.scale, a.shape.causal);
  return cudaGetLastError();
}

constexpr double COST[] = {0, 1.3, 1.1, 1.0, 1.06};  // [i]: of 64 query rows in a block of i groups: fewer hide less

}  // namespace

cudaError_t attention(const half* q, const half* k, const half* v, half* out, int B, int H, int S, int D, float scale,
                      int causal, void*, cudaStream_t stream) {
  const lab::AttentionArgs args{q, k, v, out, {B, H, S, D, causal != 0}, scale, stream};
  if (const cudaError_t error = check(args)) return error;
  const int groups = best_groups(args.shape, COST, D == 64 ? 4 : 2, count_multiprocessors());
  if (D == 128) return groups == 1 ? launch<128, 1, 128, 3>(args) : launch<128, 2, 128, 3>(args);
  if (groups < 3) return groups == 1 ? launch<64, 1, 128, 4>(args) : launch<64, 2, 128, 4>(args);
  return groups == 3 ? launch<64, 3, 128, 4>(args) : launch<64, 4, 64, 8>(args);
}
