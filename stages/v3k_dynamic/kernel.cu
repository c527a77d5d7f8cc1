// V3k: a dynamic tile scheduler. v3h's fixed list gives every block nearly as many keys, but not as much time: SMs
// differ, and a head's longest query tiles may come last. Here only two waves are assigned. Then the block that is
// done first draws the next query tile from a counter in global memory. The producer draws, and passes the number to
// the consumers with the Q slot. Heads are taken in bunches whose K and V fit the L2, each bunch from its longest tiles
// to its shortest.
//
//   the first K/V tile: s = Q K(0); r, p = 2^(s - r), l = sum(p)
//   for each other one, t: my turn: s = Q K(t) and O = O + p V(t - 1) begin; your turn;
//                          s is there: p' = 2^(s - r) of the first keys;  O is there: p = p', and the other keys;
//                          sum(p) too large: r' = r + its exponent, p, l and O times 2^(r - r');  finally O / l
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "common/attention_tma.cuh"
#include "common/exp2_scale.cuh"
#include "common/half_pair.cuh"
#include "common/hopper/descriptors.cuh"
#include "common/hopper/lazy_reference.cuh"
#include "common/hopper/mask.cuh"
#include "common/hopper/place.cuh"
#include "common/hopper/quad_store.cuh"
#include "common/hopper/register_share.cuh"
#include "common/hopper/scale_sign.cuh"
#include "common/hopper/score_by_warp.cuh"
#include "common/hopper/skip_tile.cuh"
#include "common/hopper/tile_choice.cuh"
#include "common/hopper/turns.cuh"
#include "common/ptx/mbarrier.cuh"
#include "common/ptx/tma.cuh"
#include "common/ptx/wgmma.cuh"
#include "common/smem_plan.cuh"
#include "common/tile.cuh"
#include "common/warp.cuh"

namespace {
using namespace lab;

// --- tile constants --------------------------------------------------------------------------------------
constexpr int GROUP = 128;  // threads of a warpgroup
constexpr int PRODUCER_REGISTERS = 24;
constexpr int Q_SLOTS = 2;
constexpr int STRIPE = 16;               // rows of a tensor core's tile
constexpr float LARGEST_SUM = 32768.0f;  // of a lane's weights of a tile: then each of them fits a half
constexpr float LARGEST_FINITE = 1e30f;  // of the same: then a quad's sum is finite

// GROUPS consumer warpgroups of 64 rows each, N keys at a time, and the producer.
template <int D_, int GROUPS_, int N_, int SLOTS_>
struct Tile {
  static constexpr int D = D_, GROUPS = GROUPS_, N = N_, SLOTS = SLOTS_;
  static constexpr int ROWS_PER_WARP = STRIPE;
  static constexpr int M = GROUPS * 64;  // query rows per block
  static constexpr int THREADS = (GROUPS + 1) * GROUP;
  static constexpr bool TURNS = GROUPS == 2 || GROUPS == 3;
  static constexpr int EARLY = N / 2 / 8 * 8;  // keys weighed while O's product lasts
  static_assert(SLOTS * N >= (GROUPS - 1) * 64, "the first group skips K before it gives its last V back");
  static constexpr unsigned Q_BYTES = M * D * sizeof(half), TILE_BYTES = N * D * sizeof(half);
  static constexpr unsigned L2_KEYS = 32'000'000 / (4 * D);  // with V: what may fill an H200's L2
};

// --- which query tile comes next --------------------------------------------------------------------------
// Under a mask heads go in bunches, as many as have their K and V in the L2, each bunch from its longest query tiles to
// its shortest: the last ones to be drawn are short, and end together. Without a mask all are equally long.
template <class T>
__host__ __device__ constexpr unsigned heads_in_bunch(bool causal, unsigned tiles, unsigned heads) {
  unsigned bunch = 1;
  while (causal && bunch < heads && 2 * bunch * tiles * T::M <= T::L2_KEYS) bunch *= 2;
  return bunch;
}
// Piece i of `tiles` times `heads`, in that order. Behind the last one: tile -1.
template <class T>
__host__ __device__ constexpr BlockWork work_of_piece(unsigned i, bool causal, unsigned tiles, unsigned heads) {
  if (i >= tiles * heads) return {-1, 0};
  const unsigned bunch = heads_in_bunch<T>(causal, tiles, heads), first = i / (tiles * bunch) * bunch;
  const BlockWork work = longest_first(i - first * tiles, tiles, min(bunch, heads - first));
  return {work.tile, int(first) + work.head};
}
// The same backwards, for LaunchPlan::block_of: the piece of a tile, counted head after head.
template <class T, bool CAUSAL>
constexpr unsigned piece_of_tile(unsigned tile, unsigned tiles, unsigned heads) {
  const unsigned bunch = heads_in_bunch<T>(CAUSAL, tiles, heads), first = tile / (tiles * bunch) * bunch;
  return first * tiles + block_over_all_heads(tile - first * tiles, tiles, min(bunch, heads - first));
}

// --- shared-memory plan ----------------------------------------------------------------------------------
struct Smem {
  half *sQ, *sK, *sV;  // [Q_SLOTS][D / 64][M][64], [SLOTS][D / 64][N][64] twice, swizzled
  BlockWork* work;     // of each Q: the query tile
  ptx::MBarrier *q_full, *q_empty, *k_full, *k_empty, *v_full, *v_empty;  // of each slot
};

template <class T, class Cursor>
__host__ __device__ Smem carve(Cursor& cursor) {
  Smem smem;
  smem.sQ = cursor.template array<half, SWIZZLE_ALIGN>("sQ", Q_SLOTS * T::M * T::D / SLAB, SLAB);
  smem.sK = cursor.template array<half, SWIZZLE_ALIGN>("sK", T::SLOTS * T::N * T::D / SLAB, SLAB);
  smem.sV = cursor.template array<half, SWIZZLE_ALIGN>("sV", T::SLOTS * T::N * T::D / SLAB, SLAB);
  smem.work = cursor.template array<BlockWork>("work", Q_SLOTS, 1);
  smem.q_full = cursor.template array<ptx::MBarrier>("q_full", Q_SLOTS, 1);
  smem.q_empty = cursor.template array<ptx::MBarrier>("q_empty", Q_SLOTS, 1);
  smem.k_full = cursor.template array<ptx::MBarrier>("k_full", T::SLOTS, 1);
  smem.k_empty = cursor.template array<ptx::MBarrier>("k_empty", T::SLOTS, 1);
  smem.v_full = cursor.template array<ptx::MBarrier>("v_full", T::SLOTS, 1);
  smem.v_empty = cursor.template array<ptx::MBarrier>("v_empty", T::SLOTS, 1);
  return smem;
}

template <int D, int GROUPS, int N, int SLOTS>
__global__ void __launch_bounds__(Tile<D, GROUPS, N, SLOTS>::THREADS, 1)
    attention(const __grid_constant__ TensorMap q, const __grid_constant__ TensorMap k,
              const __grid_constant__ TensorMap v, half* __restrict__ out, int heads, int S, float scale, bool causal,
              unsigned* drawn_pieces) {  // of this launch so far; null: two waves are all
  using T = Tile<D, GROUPS, N, SLOTS>;
  constexpr int M = T::M;
  AlignedSmemCursor cursor;
  const Smem smem = carve<T>(cursor);

  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, group = __shfl_sync(FULL_WARP, threadIdx.x / GROUP, 0);
  int q0 = 0, head = 0, tiles = 0;  // this block's piece of work: first query row; of all batches' heads; of K and V
  const auto take = [&](const BlockWork& work) {
    if (work.tile < 0) return false;
    q0 = work.tile * M, head = work.head;
    tiles = ceil_div(causal ? min(S, q0 + M) : S, N);  // no row of the tile sees a later key
    return true;
  };
  const int quad_row = lane / 4, first_column = lane % 4 * 2;  // the lane's, in each 8x8 of the accumulator

  // --- Prologue: the barriers, Q and the first tiles on their way, an empty running softmax ------------------
  Place<Q_SLOTS> q_place;
  Place<SLOTS> k_place, v_place;  // of the producer's next tiles, or of the next to multiply with
  // By one thread: tile t into its slot, once all warps are done with the tile before. Parity 1 passes a fresh barrier.
  const auto request = [&](const TensorMap& map, half* ring, ptx::MBarrier* full, ptx::MBarrier* empty,
                           Place<SLOTS>& at, int t) {
    ptx::mbarrier_wait(&empty[at.slot], at.parity ^ 1);
    ptx::mbarrier_arrive_expect_tx(&full[at.slot], T::TILE_BYTES);
    ptx::tma_load_4d(ring + at.slot * N * D, &map, 0, t * N, 0, head, &full[at.slot]);
    at.next();
  };
  // By one thread: the block's piece after this one. Two waves are assigned; then a block that is done draws the next.
  const unsigned per_head = ceil_div(S, M), pieces = per_head * heads;
  const auto piece_after = [&](unsigned piece) {
    if (piece == blockIdx.x) return to_and_fro(1, blockIdx.x, gridDim.x);
    if (!drawn_pieces) return pieces;
    return 2 * gridDim.x + atomicAdd(drawn_pieces, 1u);
  };
  if (threadIdx.x == 0) {
    for (int slot = 0; slot < Q_SLOTS; ++slot)
      ptx::mbarrier_init(&smem.q_full[slot], 1), ptx::mbarrier_init(&smem.q_empty[slot], GROUPS * 4);
    for (int slot = 0; slot < SLOTS; ++slot) {
      ptx::mbarrier_init(&smem.k_full[slot], 1), ptx::mbarrier_init(&smem.k_empty[slot], GROUPS * 4);
      ptx::mbarrier_init(&smem.v_full[slot], 1), ptx::mbarrier_init(&smem.v_empty[slot], GROUPS * 4);
    }
    ptx::fence_mbarrier_init();
  }
  __syncthreads();
  if (group == GROUPS) {
    RegisterShare<GROUPS, PRODUCER_REGISTERS>::release();
    if (threadIdx.x % GROUP == 0) {
      unsigned piece = blockIdx.x, next = 0;
      BlockWork work;
      for (; take(work = work_of_piece<T>(piece, causal, per_head, heads)); piece = next)
        for (int t = 0; t < tiles; ++t) {
          if (t == tiles - 1) next = piece_after(piece);  // there before the last K has a slot
          request(k, smem.sK, smem.k_full, smem.k_empty, k_place, t);
          if (t == 0) {
            ptx::mbarrier_wait(&smem.q_empty[q_place.slot], q_place.parity ^ 1);
            smem.work[q_place.slot] = work;
            ptx::mbarrier_arrive_expect_tx(&smem.q_full[q_place.slot], T::Q_BYTES);
            ptx::tma_load_4d(smem.sQ + q_place.slot * M * D, &q, 0, q0, 0, head, &smem.q_full[q_place.slot]);
            q_place.next();
          }
          request(v, smem.sV, smem.v_full, smem.v_empty, v_place, t);
        }
      ptx::mbarrier_wait(&smem.q_empty[q_place.slot], q_place.parity ^ 1);
      smem.work[q_place.slot] = work;  // no tile is left: the consumers stop, too
      ptx::mbarrier_arrive(&smem.q_full[q_place.slot]);
    }
    return;
  }
  RegisterShare<GROUPS, PRODUCER_REGISTERS>::take();

  const Exp2Scale scale_log2 = exp2_scale(scale);
  const float unit[2] = {scale_log2.unit, scale_log2.unit};  // of both rows of a lane
  const int first_row = warp * T::ROWS_PER_WARP;
  // The m64nN accumulator layout: of the warp's row quad_row, columns 8 i + first_column and the next in [4 i] and
  // [4 i + 1]; of row quad_row + 8 in [4 i + 2] and [4 i + 3].
  float s[N / 2], o[D / 2];  // scores, then weights, [64 rows][N keys]; O [64 rows][D columns]
  unsigned p[N / 16][4];     // weights as halves: A operands of 16 keys each
  const ptx::Descriptor q_at = k_major_descriptor(smem.sQ + group * 64 * SLAB);
  const ptx::Descriptor k_at = k_major_descriptor(smem.sK);
  const ptx::Descriptor v_at = mn_major_descriptor<N>(smem.sV);
  const auto begin_qk = [&] {  // s = Q K^T: A [64][D] and B [D][N], both K-major, from shared memory
    ptx::mbarrier_wait(&smem.k_full[k_place.slot], k_place.parity);
    const ptx::Descriptor own_q = ptx::advance(q_at, q_place.slot * T::Q_BYTES);
    const ptx::Descriptor slot = ptx::advance(k_at, k_place.slot * T::TILE_BYTES);
    ptx::wgmma_fence();
#pragma unroll
    for (int kk = 0; kk < D / 16; ++kk) ptx::wgmma<N>(s, advance_k<M>(own_q, kk), advance_k<N>(slot, kk), kk > 0);
    ptx::wgmma_commit();
  };
  const auto begin_pv = [&] {  // o += P V: A [64][N] from registers, B [N][D] MN-major
    ptx::mbarrier_wait(&smem.v_full[v_place.slot], v_place.parity);
    const ptx::Descriptor slot = ptx::advance(v_at, v_place.slot * T::TILE_BYTES);
    ptx::wgmma_fence();
#pragma unroll
    for (int n = 0; n < N / 16; ++n) ptx::wgmma<D, true>(o, p[n], advance_keys(slot, n), true);
    ptx::wgmma_commit();
  };
  const bool speaks = lane == 0;  // for its warp
  // Barrier 2 + i is the turn of group i. The first turn is group 0's.
  const auto wait_for_turn = [&] { await_turn<T::TURNS ? GROUPS : 1>(group); };
  const auto hand_on_turn = [&] { pass_turn<T::TURNS ? GROUPS : 1>(group); };
  if (group == GROUPS - 1) hand_on_turn();

  for (;;) {
    ptx::mbarrier_wait(&smem.q_full[q_place.slot], q_place.parity);
    if (!take(smem.work[q_place.slot])) break;
    q0 = __shfl_sync(FULL_WARP, q0, 0);  // the same in all lanes: said so, it takes none of their registers
    half* const sQ = smem.sQ + q_place.slot * M * D;
    take_sign<M * D, GROUPS * GROUP>(sQ, scale);
    // Tiles that its rows see: under a mask, and where M > N, the first group may need fewer than the last.
    const int own_tiles = causal ? ceil_div(min(S, q0 + (group + 1) * 64), N) : tiles;
    const int plain_tiles = min(S, causal ? q0 + first_row + 1 : S) / N;  // nothing to hide in these
#pragma unroll
    for (float& x : o) x = 0.0f;
    float row_max[2] = {-INFINITY, -INFINITY}, row_sum[2] = {};  // the score of weight 1; of own columns
    float reference[2] = {-INFINITY, -INFINITY};                 // row_max times unit

    const auto hide = [&](int t) {
      if (t >= plain_tiles) hide_keys(s, q0 + first_row + quad_row, t * N, first_column, S, causal);
    };

    // The same scores by the warp alone.
    const auto score_again = [&] { score_by_warp<M, N, D>(s, sQ, smem.sK + k_place.slot * N * D, first_row, lane); };

    float sum[2];
    const auto pack = [&](int from, int to) {
#pragma unroll
      for (int i = from / 4; i < to / 4; ++i) p[i / 4][i % 4] = half_pair(s[2 * i], s[2 * i + 1]);
    };

    // --- The first K/V tile: there is no reference, and nothing to add up ------------------------------------
    wait_for_turn();
    begin_qk();
    hand_on_turn();
    ptx::wgmma_wait<0>();
    ptx::fence_registers(s);
    hide(0);
    weigh_anew(scale_log2, s, o, row_max, row_sum, reference, sum), pack(0, N);
    row_sum[0] += sum[0], row_sum[1] += sum[1];
    ptx::mbarrier_arrive_if(speaks, &smem.k_empty[k_place.slot]);
    k_place.next();

    // --- Mainloop: one K/V tile at a time --------------------------------------------------------------------
    for (int t = 1; t < own_tiles; ++t) {
      wait_for_turn();
      begin_qk();
      begin_pv();
      hand_on_turn();
      ptx::wgmma_wait<1>();
      ptx::fence_registers(s);
      hide(t);
      sum[0] = sum[1] = 0.0f;
      // Always true: at D = 128 this keeps ptxas from moving the wait for O up. At D = 64 the moved wait is faster.
      if (D == 64 || q0 < S) weigh(s, sum, unit, reference, 0, T::EARLY);
      ptx::wgmma_wait<0>();
      ptx::fence_registers(o), ptx::fence_registers(p);
      ptx::mbarrier_arrive_if(speaks, &smem.v_empty[v_place.slot]);
      v_place.next();
      pack(0, T::EARLY);
      weigh(s, sum, unit, reference, T::EARLY, N);
      pack(T::EARLY, N);
      // A row without a visible key yet has the reference -inf: its weights are infinite or NaN, and fail both checks.
      const bool fits = sum[0] <= LARGEST_SUM && sum[1] <= LARGEST_SUM;
      const bool finite = sum[0] <= LARGEST_FINITE && sum[1] <= LARGEST_FINITE;
      if (!__all_sync(FULL_WARP, fits)) {
        if (__all_sync(FULL_WARP, finite))
          raise_reference(scale_log2, s, o, row_max, row_sum, reference, sum), pack(0, N);
        else
          score_again(), hide(t), weigh_anew(scale_log2, s, o, row_max, row_sum, reference, sum), pack(0, N);
      }
      row_sum[0] += sum[0], row_sum[1] += sum[1];
      ptx::mbarrier_arrive_if(speaks, &smem.k_empty[k_place.slot]);
      k_place.next();
    }
    begin_pv();
    __syncwarp();  // all lanes have read the slot's work
    if (lane == 0) ptx::mbarrier_arrive(&smem.q_empty[q_place.slot]);
    q_place.next();
    for (int t = own_tiles; t < tiles; ++t) {
      wait_for_turn(), hand_on_turn();
      skip_tile(smem.k_full, smem.k_empty, k_place, lane);
      k_place.next();
    }
    ptx::wgmma_wait<0>();
    ptx::fence_registers(o), ptx::fence_registers(p);
    for (int t = own_tiles - 1; t < tiles; ++t) {
      skip_tile(smem.v_full, smem.v_empty, v_place, lane);
      v_place.next();
    }

    // --- Epilogue: add up the quad's sums, normalise, round to fp16, store -----------------------------------
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
// COST[D / 128][i]: the cost of 64 query rows in a block of i groups, relative to three groups. At D = 128 three groups have
// room for tiles of 80 keys: enough where all tiles are full.
constexpr double COST[][5] = {{0, 1.3, 1.15, 1.0, 1.0}, {0, 1.35, 1.0, 1.0}};
constexpr int most_groups(const Shape& shape) { return shape.D == 64 ? 4 : shape.causal ? 2 : 3; }

template <class T>
struct Launcher {
  static bool takes(const Shape& shape) {
    return shape.D == T::D && counted_groups(shape, COST[T::D / 128], most_groups(shape)) == T::GROUPS;
  }
  static LaunchPlan plan(const Shape& shape) {
    SmemCount smem;
    carve<T>(smem);
    LaunchPlan plan = tile_plan<T>(shape, T::THREADS, smem);
    plan.half_p = true;
    plan.kernel = kernel().name;
    plan.counts_multiprocessors = true;
    plan.workspace = sizeof(unsigned);
    plan.block_of = shape.causal ? piece_of_tile<T, true> : piece_of_tile<T, false>;
    return plan;
  }
  static cudaError_t launch(const AttentionArgs& args, const LaunchPlan& plan) {
    // The counter is the launch's own: two launches that drew from one would skip each other's pieces.
    const unsigned pieces = plan.grid.x * plan.grid.y * plan.grid.z;
    unsigned* drawn = nullptr;
    if (pieces > 2 * persistent_blocks(pieces)) {  // there is a third wave
      drawn = static_cast<unsigned*>(args.workspace);
      if (const cudaError_t error = cudaMemsetAsync(drawn, 0, sizeof *drawn, args.stream); error != cudaSuccess)
        return error;
    }
    return launch_persistent_tma(kernel(), plan, args, drawn);
  }
  static auto kernel() {
    return named_kernel<T::D, T::GROUPS, T::N, T::SLOTS>(attention<T::D, T::GROUPS, T::N, T::SLOTS>);
  }
};

}  // namespace

const lab::StageInfo& lab::stage() {
  return stage_of<Launcher<Tile<64, 1, 128, 4>>, Launcher<Tile<64, 2, 128, 4>>, Launcher<Tile<64, 3, 128, 4>>,
                  Launcher<Tile<64, 4, 64, 8>>, Launcher<Tile<128, 1, 128, 3>>, Launcher<Tile<128, 2, 128, 2>>,
                  Launcher<Tile<128, 3, 80, 3>>>();
}
