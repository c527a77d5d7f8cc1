// V3j: a shorter loop. Questions that v3i asks at each key tile are answered before the loop: key tile 0 is computed
// there, and the number of the first tile that needs a mask. Slots are counted, not divided. Arrivals are predicated.
// Beside that, Q has two slots: a group that is done goes on to the next query tile while the others finish theirs.
//
//   the first K/V tile: s = Q K(0); r, p = 2^(s - r), l = sum(p)
//   for each other one, t: my turn: s = Q K(t) and O = O + p V(t - 1) begin; your turn;
//                          s is there: p' = 2^(s - r) of the first keys;  O is there: p = p', and the other keys;
//                          sum(p) too large: r' = r + its exponent, p, l and O times 2^(r - r');  finally O / l
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
constexpr int GROUP = 128;  // threads of a warpgroup
constexpr int Q_SLOTS = 2;
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
  alignas(1024) half Q[Q_SLOTS][D / SLAB][GROUPS * 64][SLAB];  // swizzled, as K and V
  alignas(1024) half K[SLOTS][D / SLAB][N][SLAB];
  alignas(1024) half V[SLOTS][D / SLAB][N][SLAB];
  ptx::MBarrier q_full[Q_SLOTS], q_empty[Q_SLOTS];  // of each slot
  ptx::MBarrier k_full[SLOTS], k_empty[SLOTS], v_full[SLOTS], v_empty[SLOTS];
};

// Where the next tile is: counted, not divided. (DeepGEMM's kernels count so: stage and phase.)
template <int SLOTS>
struct Place {
  unsigned slot = 0, parity = 0;  // parity: of the phase in which the slot becomes full
  __device__ __forceinline__ void next() {
    if (++slot == SLOTS) slot = 0, parity ^= 1;
  }
};

template <int D, int GROUPS, int N, int SLOTS>
__global__ void __launch_bounds__((GROUPS + 1) * GROUP, 1)
    attention(const __grid_constant__ CUtensorMap q, const __grid_constant__ CUtensorMap k,
              const __grid_constant__ CUtensorMap v, half* __restrict__ out, int heads, int S, float scale,
              bool causal) {
  extern __shared__ __align__(1024) unsigned char shared[];
  auto& smem = *reinterpret_cast<Smem<D, GROUPS, N, SLOTS>*>(shared);
  constexpr int M = GROUPS * 64;  // query rows per block
  // Keys of a group's last tile, where it sees no more of them: of two groups with 128 keys the first sees 64 on the diagonal.
  constexpr int FEW = GROUPS == 2 && N > 64 ? 64 : N;
  constexpr bool TURNS = GROUPS > 1;
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
    for (int slot = 0; slot < Q_SLOTS; ++slot)
      ptx::mbarrier_init(smem.q_full[slot], 1), ptx::mbarrier_init(smem.q_empty[slot], GROUPS * 4);
    for (int slot = 0; slot < SLOTS; ++slot) {
      ptx::mbarrier_init(smem.k_full[slot], 1), ptx::mbarrier_init(smem.k_empty[slot], GROUPS * 4);
      ptx::mbarrier_init(smem.v_full[slot], 1), ptx::mbarrier_init(smem.v_empty[slot], GROUPS * 4);
    }
    ptx::fence_mbarrier_init();
  }
  __syncthreads();
  Place<Q_SLOTS> q_at;
  Place<SLOTS> k_at, v_at;  // of the producer's next tiles, or of the next to multiply with

  // --- Producer: one thread asks for K, Q and V, piece by piece ---------------------------------------------
  if (group == GROUPS) {
    if constexpr (Registers<GROUPS>::SHARED_OUT) ptx::registers_release<PRODUCER_REGISTERS>();
    // A tile into its slot, once all warps are done with the one before. Parity 1 passes on a fresh barrier.
    const auto request = [&](const CUtensorMap& map, auto& tile, ptx::MBarrier& full, ptx::MBarrier& empty,
                             Place<SLOTS>& at, int t) {
      ptx::mbarrier_wait(empty, at.parity ^ 1);
      ptx::mbarrier_arrive_expect_tx(full, sizeof tile);
      ptx::tma_load_4d(tile, map, 0, t * N, 0, head, full);
      at.next();
    };
    if (threadIdx.x % GROUP == 0) {
      for (int piece = 0; take(piece); ++piece)
        for (int t = 0; t < tiles; ++t) {
          request(k, smem.K[k_at.slot], smem.k_full[k_at.slot], smem.k_empty[k_at.slot], k_at, t);
          if (t == 0) {
            ptx::mbarrier_wait(smem.q_empty[q_at.slot], q_at.parity ^ 1);
            ptx::mbarrier_arrive_expect_tx(smem.q_full[q_at.slot], sizeof smem.Q[q_at.slot]);
            ptx::tma_load_4d(smem.Q[q_at.slot], q, 0, q0, 0, head, smem.q_full[q_at.slot]);
            q_at.next();
          }
          request(v, smem.V[v_at.slot], smem.v_full[v_at.slot], smem.v_empty[v_at.slot], v_at, t);
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
  // scores = Q K^T: A [64][D] and B [D][keys], both K-major, from shared memory. scores: s, or its first FEW keys.
  const auto begin_qk = [&](auto& scores) {
    ptx::mbarrier_wait(smem.k_full[k_at.slot], k_at.parity);
    ptx::wgmma_fence();
#pragma unroll
    for (int c = 0; c < D; c += 16)
      ptx::wgmma<ptx::K_MAJOR>(scores, ptx::descriptor(smem.Q[q_at.slot], group * 64, c),
                               ptx::descriptor(smem.K[k_at.slot], 0, c), c > 0);
    ptx::wgmma_commit();
  };
  const auto begin_pv = [&](int keys) {  // o += P V: A [64][keys] from registers, B [keys][D] MN-major
    ptx::mbarrier_wait(smem.v_full[v_at.slot], v_at.parity);
    ptx::wgmma_fence();
#pragma unroll
    for (int n = 0; n < keys; n += 16)
      ptx::wgmma<ptx::MN_MAJOR>(o, p[n / 16], ptx::descriptor(smem.V[v_at.slot], n, 0));
    ptx::wgmma_commit();
  };
  // A tile that the warp does not need. Its slot is given back all the same: it is filled again when all have done so.
  const auto skip = [&](ptx::MBarrier& full, ptx::MBarrier& empty, Place<SLOTS>& at) {
    ptx::mbarrier_wait(full, at.parity);
    __syncwarp();  // a lane that has not looked yet could come a round of the ring too late
    if (lane == 0) ptx::mbarrier_arrive(empty);
    at.next();
  };
  const bool speaks = lane == 0;  // for its warp
  // Barrier 2 + i is the turn of group i. The first turn is group 0's. A group that is alone takes none.
  const auto wait_for_turn = [&] {
    if constexpr (TURNS) ptx::barrier_sync(2 + group, 2 * GROUP);
  };
  const auto hand_on_turn = [&] {
    if constexpr (TURNS) ptx::barrier_arrive(2 + (group + 1) % GROUPS, 2 * GROUP);
  };
  if (group == GROUPS - 1) hand_on_turn();

  for (int piece = 0; take(piece); ++piece) {
    ptx::mbarrier_wait(smem.q_full[q_at.slot], q_at.parity);
    q0 = __shfl_sync(FULL_WARP, q0, 0);  // the same in all lanes: said so, it takes none of their registers
    // Tiles that its rows see: under a mask, and where M > N, the first group may need fewer than the last.
    const int own_tiles = causal ? ceil_div(min(S, q0 + (group + 1) * 64), N) : tiles;
    const int plain_tiles = min(S, causal ? q0 + first_row + 1 : S) / N;  // nothing to hide in these
    float row_max[2] = {-FLT_MAX, -FLT_MAX};  // the score of weight 1; not -inf: -inf - -inf is NaN
    float row_sum[2] = {};                    // of the lane's own columns only
    float reference[2];                       // row_max times scale_log2
    float sum[2];
    const auto hide = [&](auto& scores, int t) {
      if (t >= plain_tiles) hide_keys(scores, q0 + first_row + quad_row, t * N + first_column, S, causal);
    };

    // --- The first K/V tile: there is no reference, and nothing to add up ------------------------------------
    wait_for_turn();
    begin_qk(s);
    hand_on_turn();
    // While the scores are computed: without the fence ptxas moves the zeros behind the weights, and rescales them.
#pragma unroll
    for (auto& column : o) column[0] = column[1] = column[2] = column[3] = 0.0f;
    ptx::fence_registers(o);
    ptx::wgmma_wait<0>();
    ptx::fence_registers(s);
    hide(s, 0);
    float no_o[1][4] = {};  // nothing to rescale yet
    weigh_anew(scale_log2, s, no_o, row_max, row_sum, reference, sum), pack(p, s);
    row_sum[0] += sum[0], row_sum[1] += sum[1];
    ptx::mbarrier_arrive_if(speaks, smem.k_empty[k_at.slot]);
    k_at.next();

    // --- Mainloop: one K/V tile at a time --------------------------------------------------------------------
    const auto compute = [&](auto& scores, auto& weights, int t) {  // s and p, or their first FEW keys
      constexpr int KEYS = sizeof scores / sizeof scores[0] * 8;
      constexpr int EARLY = KEYS / 2 / 8 * 8;  // keys weighed while O's product lasts
      wait_for_turn();
      begin_qk(scores);
      begin_pv(N);
      hand_on_turn();
      ptx::wgmma_wait<1>();
      ptx::fence_registers(scores);
      hide(scores, t);
      sum[0] = sum[1] = 0.0f;
      // Always true: at D = 128 this keeps ptxas 13.0 from moving the wait for O up, behind 10 of the tile's 64 early
      // MUFU.EX2 instead of 51. At D = 64 the moved wait is faster.
      if (D == 64 || q0 < S) weigh(scores, sum, scale_log2, reference, 0, EARLY);
      ptx::wgmma_wait<0>();
      ptx::fence_registers(o), ptx::fence_registers(p);
      ptx::mbarrier_arrive_if(speaks, smem.v_empty[v_at.slot]);
      v_at.next();
      pack(weights, scores, 0, EARLY);
      weigh(scores, sum, scale_log2, reference, EARLY, KEYS);
      pack(weights, scores, EARLY, KEYS);
      // The reference -inf makes weights infinite or NaN: they fail both checks.
      const bool fits = sum[0] <= LARGEST_SUM && sum[1] <= LARGEST_SUM;
      const bool finite = sum[0] <= LARGEST_FINITE && sum[1] <= LARGEST_FINITE;
      if (!__all_sync(FULL_WARP, fits)) {
        if (__all_sync(FULL_WARP, finite)) {
          raise_reference(scale_log2, scores, o, row_max, row_sum, reference, sum), pack(weights, scores);
        } else {
          score_by_warp(s, smem.Q[q_at.slot], smem.K[k_at.slot], first_row, lane), hide(s, t);
          weigh_anew(scale_log2, s, o, row_max, row_sum, reference, sum), pack(p, s);
        }
      }
      row_sum[0] += sum[0], row_sum[1] += sum[1];
      ptx::mbarrier_arrive_if(speaks, smem.k_empty[k_at.slot]);
      k_at.next();
    };
    // Does the group see at most FEW keys of its last tile?
    const int own_keys = causal ? min(S, q0 + (group + 1) * 64) : S;
    const bool few = FEW < N && own_tiles > 1 && own_keys - (own_tiles - 1) * N <= FEW;
    for (int t = 1; t < own_tiles - few; ++t) compute(s, p, t);
    if (FEW < N && few) {
      compute(reinterpret_cast<float(&)[FEW / 8][4]>(s), reinterpret_cast<unsigned(&)[FEW / 16][4]>(p), own_tiles - 1);
      begin_pv(FEW);
      ptx::wgmma_wait<0>();  // in both branches: where two meet, ptxas wants no product under way
      ptx::fence_registers(o), ptx::fence_registers(p);
    } else {
      begin_pv(N);
      ptx::wgmma_wait<0>();
      ptx::fence_registers(o), ptx::fence_registers(p);
    }
    if (lane == 0) ptx::mbarrier_arrive(smem.q_empty[q_at.slot]);
    q_at.next();
    for (int t = own_tiles; t < tiles; ++t)
      wait_for_turn(), hand_on_turn(), skip(smem.k_full[k_at.slot], smem.k_empty[k_at.slot], k_at);

    // --- Epilogue: add up the quad's sums, normalise, round to fp16, store -----------------------------------
    for (int t = own_tiles - 1; t < tiles; ++t) skip(smem.v_full[v_at.slot], smem.v_empty[v_at.slot], v_at);
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

// COST[D / 128][i]: the cost of 64 query rows in a block of i groups, relative to three groups. At D = 128 three groups have
// room for tiles of 80 keys: enough where all tiles are full.
constexpr double COST[][5] = {{0, 1.3, 1.15, 1.0, 1.0}, {0, 1.35, 1.0, 1.0}};

}  // namespace

cudaError_t attention(const half* q, const half* k, const half* v, half* out, int B, int H, int S, int D, float scale,
                      int causal, void*, cudaStream_t stream) {
  const lab::AttentionArgs args{q, k, v, out, {B, H, S, D, causal != 0}, scale, stream};
  if (const cudaError_t error = check(args)) return error;
  const int most = D == 64 ? 4 : causal ? 2 : 3;
  const int groups = counted_groups(args.shape, COST[D / 128], most, count_multiprocessors());
  if (D == 64 && groups < 3) return groups == 1 ? launch<64, 1, 128, 4>(args) : launch<64, 2, 128, 4>(args);
  if (D == 64) return groups == 3 ? launch<64, 3, 128, 4>(args) : launch<64, 4, 64, 8>(args);
  if (groups < 3) return groups == 1 ? launch<128, 1, 128, 3>(args) : launch<128, 2, 128, 2>(args);
  return launch<128, 3, 80, 3>(args);
}
