// V3f: the lazily moved reference. The row maximum cancels out of the softmax: every reference r gives the same result
// while each weight fits fp16. The sum of the weights, which l needs anyway, is the check. The first tile's maximum is
// r until a sum is too large. Then the weights, still floats, are scaled by a power of two, and r is raised by its
// exponent. Only where a weight is infinite even as a float, a warp computes its scores again, by mma.sync, and takes
// their maximum. No weight waits for the whole row, so the first keys' weights are rounded before the others are
// computed.
//
//   for each K/V tile t:  my turn: s = Q K(t) and O = O + p V(t - 1) begin; your turn;
//                         s is there: p' = 2^(s - r) of the first keys;  O is there: p = p', and the other keys;
//                         sum(p) too large: r' = r + its exponent, p, l and O times 2^(r - r');  finally O / l
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "common/attention_tma.cuh"
#include "common/exp2_scale.cuh"
#include "common/half_pair.cuh"
#include "common/hopper/descriptors.cuh"
#include "common/hopper/mask.cuh"
#include "common/hopper/ring.cuh"
#include "common/hopper/scale_sign.cuh"
#include "common/hopper/score_by_warp.cuh"
#include "common/hopper/swizzle.cuh"
#include "common/ptx/barrier.cuh"
#include "common/ptx/mbarrier.cuh"
#include "common/ptx/registers.cuh"
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
// Per thread: 24 + 2 * 240 is 3 * 168, what a block of two consumers and the producer starts with.
constexpr int PRODUCER_REGISTERS = 24;
constexpr int REGISTERS = 240;
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
  static constexpr int EARLY = (D == 64 ? N / 2 : N * 3 / 4) / 8 * 8;  // keys weighed while O's product lasts
  static constexpr unsigned Q_BYTES = M * D * sizeof(half), TILE_BYTES = N * D * sizeof(half);
};

// --- shared-memory plan ----------------------------------------------------------------------------------
struct Smem {
  half *sQ, *sK, *sV;  // [D / 64][M][64], [SLOTS][D / 64][N][64] twice, swizzled; sQ takes the output at the end
  ptx::MBarrier *q_full, *k_full, *k_empty, *v_full, *v_empty;  // of sQ; of each slot
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
  return smem;
}

template <int D, int GROUPS, int N, int SLOTS>
__global__ void __launch_bounds__(Tile<D, GROUPS, N, SLOTS>::THREADS, 1)
    attention(const __grid_constant__ TensorMap q, const __grid_constant__ TensorMap k,
              const __grid_constant__ TensorMap v, half* __restrict__ out, int H, int S, float scale, bool causal) {
  using T = Tile<D, GROUPS, N, SLOTS>;
  constexpr int M = T::M;
  AlignedSmemCursor cursor;
  const Smem smem = carve<T>(cursor);

  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, group = __shfl_sync(FULL_WARP, threadIdx.x / GROUP, 0);
  const int q0 = blockIdx.x * M;  // first query row of this block
  const int head = blockIdx.z * H + blockIdx.y;
  out += std::size_t(head) * S * D;
  const int keys = causal ? min(S, q0 + M) : S;  // no row of this block sees a later key
  const int tiles = ceil_div(keys, N);
  const int quad_row = lane / 4, first_column = lane % 4 * 2;  // the lane's, in each 8x8 of the accumulator

  // --- Prologue: the barriers, Q and the first tiles on their way, an empty running softmax ------------------
  const Ring<SLOTS> ring;  // of K and of V
  // By one thread: tile t into its slot, once all warps are done with the tile before. Parity 1 passes a fresh barrier.
  const auto request = [&](const TensorMap& map, half* to, ptx::MBarrier* full, ptx::MBarrier* empty, int t) {
    const auto slot = ring.slot(t);
    ptx::mbarrier_wait(&empty[slot], ring.parity(t) ^ 1);
    ptx::mbarrier_arrive_expect_tx(&full[slot], T::TILE_BYTES);
    ptx::tma_load_4d(to + slot * N * D, &map, 0, t * N, 0, head, &full[slot]);
  };
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(smem.q_full, 1);
    for (int slot = 0; slot < SLOTS; ++slot) {
      ptx::mbarrier_init(&smem.k_full[slot], 1), ptx::mbarrier_init(&smem.k_empty[slot], GROUPS * 4);
      ptx::mbarrier_init(&smem.v_full[slot], 1), ptx::mbarrier_init(&smem.v_empty[slot], GROUPS * 4);
    }
    ptx::fence_mbarrier_init();
  }
  __syncthreads();
  if (group == GROUPS) {
    ptx::registers_release<PRODUCER_REGISTERS>();
    if (threadIdx.x % GROUP == 0) {
      ptx::mbarrier_arrive_expect_tx(smem.q_full, T::Q_BYTES);
      ptx::tma_load_4d(smem.sQ, &q, 0, q0, 0, head, smem.q_full);
      for (int t = 0; t < tiles; ++t) {
        request(k, smem.sK, smem.k_full, smem.k_empty, t);
        request(v, smem.sV, smem.v_full, smem.v_empty, t);
      }
    }
    return;
  }
  ptx::registers_take<REGISTERS>();

  const Exp2Scale scale_log2 = exp2_scale(scale);
  const float unit[2] = {scale_log2.unit, scale_log2.unit};  // of both rows of a lane
  const int first_row = warp * T::ROWS_PER_WARP;
  ptx::mbarrier_wait(smem.q_full, 0);
  take_sign<M * D, GROUPS * GROUP>(smem.sQ, scale);
  // The m64nN accumulator layout: of the warp's row quad_row, columns 8 i + first_column and the next in [4 i] and
  // [4 i + 1]; of row quad_row + 8 in [4 i + 2] and [4 i + 3].
  float s[N / 2], o[D / 2];  // scores, then weights, [64 rows][N keys]; O [64 rows][D columns]
  unsigned p[N / 16][4];     // weights as halves: A operands of 16 keys each
  const ptx::Descriptor q_at = k_major_descriptor(smem.sQ + group * 64 * SLAB);
  const ptx::Descriptor k_at = k_major_descriptor(smem.sK);
  const ptx::Descriptor v_at = mn_major_descriptor<N>(smem.sV);
  const auto begin_qk = [&](int t) {  // s = Q K^T: A [64][D] and B [D][N], both K-major, from shared memory
    ptx::mbarrier_wait(&smem.k_full[ring.slot(t)], ring.parity(t));
    const ptx::Descriptor slot = ptx::advance(k_at, ring.slot(t) * T::TILE_BYTES);
    ptx::wgmma_fence();
#pragma unroll
    for (int kk = 0; kk < D / 16; ++kk) ptx::wgmma<N>(s, advance_k<M>(q_at, kk), advance_k<N>(slot, kk), kk > 0);
    ptx::wgmma_commit();
  };
  const auto begin_pv = [&](int t) {  // o += P V: A [64][N] from registers, B [N][D] MN-major
    ptx::mbarrier_wait(&smem.v_full[ring.slot(t)], ring.parity(t));
    const ptx::Descriptor slot = ptx::advance(v_at, ring.slot(t) * T::TILE_BYTES);
    ptx::wgmma_fence();
#pragma unroll
    for (int n = 0; n < N / 16; ++n) ptx::wgmma<D, true>(o, p[n], advance_keys(slot, n), true);
    ptx::wgmma_commit();
  };
  // Barrier 2 + i is the turn of group i. The first turn is group 0's.
  const auto wait_for_turn = [&] { ptx::barrier_sync(2 + group, 2 * GROUP); };
  const auto hand_on_turn = [&](int t) {  // after the last tile nothing waits for one
    if (group < GROUPS - 1 || t < tiles - 1) ptx::barrier_arrive(2 + (group + 1) % GROUPS, 2 * GROUP);
  };

  if (group == GROUPS - 1) hand_on_turn(-1);
#pragma unroll
  for (float& x : o) x = 0.0f;
  float row_max[2] = {-INFINITY, -INFINITY}, row_sum[2] = {};  // the score of weight 1; of own columns
  float reference[2] = {-INFINITY, -INFINITY};                 // row_max times unit

  // --- Mainloop: one K/V tile at a time --------------------------------------------------------------------
  for (int t = 0; t < tiles; ++t) {
    wait_for_turn();
    begin_qk(t);
    if (t > 0)
      begin_pv(t - 1);
    else
      ptx::wgmma_fence(), ptx::wgmma_commit();  // of nothing: the wait counts groups
    hand_on_turn(t);
    ptx::wgmma_wait<1>();
    ptx::fence_registers(s);

    // Only a tile on the diagonal or at the end of the keys has anything to hide.
    const auto hide = [&] {
      if ((t + 1) * N > S || (causal && (t + 1) * N > q0 + first_row + 1))
        hide_keys(s, q0 + first_row + quad_row, t * N, first_column, S, causal);
    };

    // Weights of keys from .. to - 1, relative to the reference, in place of their scores; and rounded.
    float sum[2] = {};
    const auto weigh = [&](const float(&factor)[2], const float(&base)[2], int from, int to) {
#pragma unroll
      for (int h = 0; h < 2; ++h)
#pragma unroll
        for (int n = from / 8; n < to / 8; ++n) {
          float &p0 = s[4 * n + 2 * h], &p1 = s[4 * n + 2 * h + 1];
          p0 = ptx::ex2(fmaf(p0, factor[h], -base[h])), p1 = ptx::ex2(fmaf(p1, factor[h], -base[h]));
          sum[h] += p0 + p1;
        }
    };
    const auto pack = [&](int from, int to) {
#pragma unroll
      for (int i = from / 4; i < to / 4; ++i) p[i / 4][i % 4] = half_pair(s[2 * i], s[2 * i + 1]);
    };

    hide();
    if (t > 0) weigh(unit, reference, 0, T::EARLY);
    ptx::wgmma_wait<0>();
    ptx::fence_registers(o), ptx::fence_registers(p);
    if (t > 0) {
      if (lane == 0) ptx::mbarrier_arrive(&smem.v_empty[ring.slot(t - 1)]);
      pack(0, T::EARLY);
      weigh(unit, reference, T::EARLY, N);
      pack(T::EARLY, N);
    }
    // All weights, relative to a reference that no score of the tile exceeds.
    const auto weigh_anew = [&] {
      float factor[2], base[2];
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        float tile_max = fmaxf(s[2 * h], s[2 * h + 1]);
        for (int n = 1; n < N / 8; ++n) tile_max = fmaxf(tile_max, fmaxf(s[4 * n + 2 * h], s[4 * n + 2 * h + 1]));
        const float old_max = row_max[h];
        row_max[h] = fmaxf(old_max, quad_max(tile_max));
        scale_log2.relative_to(row_max[h], factor[h], base[h]);
        // The other factor serves this tile only: the reference -inf fails the next one.
        reference[h] = base[h] == row_max[h] * scale_log2.unit ? base[h] : -INFINITY;
        const float rescale = ptx::ex2(old_max * factor[h] - base[h]);
        row_sum[h] *= rescale, sum[h] = 0.0f;
        for (int d = 0; d < D / 8; ++d) o[4 * d + 2 * h] *= rescale, o[4 * d + 2 * h + 1] *= rescale;
      }
      weigh(factor, base, 0, N);
      pack(0, N);
    };
    // Weights that a half cannot hold are still finite as floats: a power of two lowers them, and raises the reference.
    const auto raise_reference = [&] {
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const float old = reference[h];
        row_max[h] = scale_log2.raised(row_max[h], quad_sum(sum[h])), reference[h] = row_max[h] * scale_log2.unit;
        const float rescale = ptx::ex2(old - reference[h]);
        row_sum[h] *= rescale, sum[h] *= rescale;
#pragma unroll
        for (int d = 0; d < D / 8; ++d) o[4 * d + 2 * h] *= rescale, o[4 * d + 2 * h + 1] *= rescale;
#pragma unroll
        for (int n = 0; n < N / 8; ++n) s[4 * n + 2 * h] *= rescale, s[4 * n + 2 * h + 1] *= rescale;
      }
      pack(0, N);
    };

    // A row without a visible key yet has the reference -inf: its weights are infinite or NaN, and fail both checks.
    const bool fits = t > 0 && sum[0] <= LARGEST_SUM && sum[1] <= LARGEST_SUM;
    const bool finite = t > 0 && sum[0] <= LARGEST_FINITE && sum[1] <= LARGEST_FINITE;
    if (!__all_sync(FULL_WARP, fits)) {
      if (__all_sync(FULL_WARP, finite)) {
        raise_reference();
      } else {
        if (t > 0) score_by_warp<M, N, D>(s, smem.sQ, smem.sK + ring.slot(t) * N * D, first_row, lane), hide();
        weigh_anew();
      }
    }
    row_sum[0] += sum[0], row_sum[1] += sum[1];
    if (lane == 0) ptx::mbarrier_arrive(&smem.k_empty[ring.slot(t)]);
  }
  begin_pv(tiles - 1);
  ptx::wgmma_wait<0>();
  ptx::fence_registers(o), ptx::fence_registers(p);

  // --- Epilogue: add up the quad's sums, normalise, round to fp16, store -----------------------------------
  // The group's last product with Q is over, and any of its warps may have read any of its rows: O takes their place.
  ptx::barrier_sync(8 + group, GROUP);
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const float norm = 1.0f / quad_sum(row_sum[h]);
    const int r = first_row + quad_row + 8 * h;
    for (int d = 0; d < D / 8; ++d)
      store2(&smem.sQ[swizzled<M>(r, 8 * d + first_column)], o[4 * d + 2 * h] * norm, o[4 * d + 2 * h + 1] * norm);
  }
  __syncwarp();  // and leaves by 16 bytes per lane
  store_rows<T::ROWS_PER_WARP, D, swizzled<M>>(out, smem.sQ, first_row, q0, S, lane);
}

// --- launcher --------------------------------------------------------------------------------------------
template <class T>
struct Launcher {
  static bool takes(const Shape& shape) { return shape.D == T::D; }
  static LaunchPlan plan(const Shape& shape) {
    SmemCount smem;
    carve<T>(smem);
    LaunchPlan plan = tile_plan<T>(shape, T::THREADS, smem);
    plan.half_p = true;
    plan.kernel = kernel().name;
    return plan;
  }
  static cudaError_t launch(const AttentionArgs& args, const LaunchPlan& plan) {
    return launch_attention_tma(kernel(), plan, args);
  }
  static auto kernel() {
    return named_kernel<T::D, T::GROUPS, T::N, T::SLOTS>(attention<T::D, T::GROUPS, T::N, T::SLOTS>);
  }
};

}  // namespace

const lab::StageInfo& lab::stage() { return stage_of<Launcher<Tile<64, 2, 128, 4>>, Launcher<Tile<128, 2, 128, 3>>>(); }
