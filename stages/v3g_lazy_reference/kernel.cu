// V3g: the lazily moved reference. The row maximum cancels out of the softmax: every reference r gives the same result
// while each weight fits fp16. The sum of the weights, which l needs anyway, is the check. The first tile's maximum is
// r until a sum is too large. Then the weights, still floats, are scaled by a power of two, and r is raised by its
// exponent. Only where a weight is infinite even as a float, a warp computes its scores again, by mma.sync, and takes
// their maximum. No weight waits for the whole row, so the first keys' weights are rounded before the others are
// computed.
//
//   for each K/V tile t:  my turn: s = Q K(t) begins; next group's turn; O = O + p V(t - 1) begins;
//                         s is there: p' = 2^(s - r) of the first keys;  O is there: p = p', and the other keys;
//                         sum(p) too large: r' = r + its exponent, p, l and O times 2^(r - r');  finally O / l
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cfloat>

#include "common/attention.hpp"
#include "common/hopper/head_map.hpp"
#include "common/hopper/lazy_reference.cuh"
#include "common/hopper/swizzle.cuh"
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
// Of an instance of the kernel: GROUPS consumer warpgroups, 64 query rows each, N keys at a time, SLOTS tiles of K and
// of V in shared memory. One more warpgroup is the producer.
// Per thread: 24 + 4 * 112 of 5 * 96 registers, or 24 + 2 * 240 of 3 * 168: what the threads of a block start with.
constexpr int PRODUCER_REGISTERS = 24;
template <int GROUPS>
constexpr int REGISTERS = GROUPS == 4 ? 112 : 240;

// --- shared memory ---------------------------------------------------------------------------------------
template <int D, int GROUPS, int N, int SLOTS>
struct Smem {
  alignas(1024) half Q[D / SLAB][GROUPS * 64][SLAB];  // swizzled, as K and V; takes the output at the end
  alignas(1024) half K[SLOTS][D / SLAB][N][SLAB];
  alignas(1024) half V[SLOTS][D / SLAB][N][SLAB];
  ptx::MBarrier q_full, k_full[SLOTS], k_empty[SLOTS], v_full[SLOTS], v_empty[SLOTS];  // of Q; of each slot
};

template <int D, int GROUPS, int N, int SLOTS>
__global__ void __launch_bounds__((GROUPS + 1) * GROUP, 1)
    attention(const __grid_constant__ CUtensorMap q, const __grid_constant__ CUtensorMap k,
              const __grid_constant__ CUtensorMap v, half* __restrict__ out, int H, int S, float scale, bool causal) {
  extern __shared__ __align__(1024) unsigned char shared[];
  auto& smem = *reinterpret_cast<Smem<D, GROUPS, N, SLOTS>*>(shared);
  constexpr int M = GROUPS * 64;  // query rows per block
  constexpr int EARLY = N / 2;    // keys weighed while O's product lasts

  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  // Lane 0's for all: ptxas then knows that a warp's lanes agree, and keeps it in a uniform register.
  const int group = __shfl_sync(FULL_WARP, threadIdx.x / GROUP, 0);
  const int q0 = blockIdx.x * M;  // first query row of this block
  const int head = blockIdx.z * H + blockIdx.y;
  out += std::size_t(head) * S * D;
  const int keys = causal ? min(S, q0 + M) : S;  // no row of this block sees a later key
  const int tiles = ceil_div(keys, N);

  // --- Prologue: the barriers ------------------------------------------------------------------------------
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(smem.q_full, 1);
    for (int slot = 0; slot < SLOTS; ++slot) {
      ptx::mbarrier_init(smem.k_full[slot], 1), ptx::mbarrier_init(smem.k_empty[slot], GROUPS * 4);
      ptx::mbarrier_init(smem.v_full[slot], 1), ptx::mbarrier_init(smem.v_empty[slot], GROUPS * 4);
    }
    ptx::fence_mbarrier_init();
  }
  __syncthreads();
  const auto slot_of = [&](int t) { return t % SLOTS; };
  const auto parity_of = [&](int t) { return t / SLOTS % 2; };  // of the phase in which t fills its slot

  // --- Producer: one thread asks for Q, then for K and V, tile by tile --------------------------------------
  if (group == GROUPS) {
    ptx::registers_release<PRODUCER_REGISTERS>();
    // Tile t into its slot, once all warps are done with the tile before. Parity 1 passes on a fresh barrier.
    const auto request = [&](const CUtensorMap& map, auto& tile, ptx::MBarrier& full, ptx::MBarrier& empty, int t) {
      ptx::mbarrier_wait(empty, parity_of(t) ^ 1);
      ptx::mbarrier_arrive_expect_tx(full, sizeof tile);
      ptx::tma_load_4d(tile, map, 0, t * N, 0, head, full);
    };
    if (threadIdx.x % GROUP == 0) {
      ptx::mbarrier_arrive_expect_tx(smem.q_full, sizeof smem.Q);
      ptx::tma_load_4d(smem.Q, q, 0, q0, 0, head, smem.q_full);
      for (int t = 0; t < tiles; ++t) {
        const auto slot = slot_of(t);
        request(k, smem.K[slot], smem.k_full[slot], smem.k_empty[slot], t);
        request(v, smem.V[slot], smem.v_full[slot], smem.v_empty[slot], t);
      }
    }
    return;
  }

  // --- Consumers: an empty running softmax -----------------------------------------------------------------
  ptx::registers_take<REGISTERS<GROUPS>>();
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

  const auto begin_qk = [&](int t) {  // s = Q K^T: A [64][D] and B [D][N], both K-major, from shared memory
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
  // Barrier 2 + i is the turn of group i. The first turn is group 0's. As the number is
  // no constant, ptxas reserves all 16 barriers of the block.
  const auto wait_for_turn = [&] { ptx::barrier_sync(2 + group, 2 * GROUP); };
  const auto hand_on_turn = [&](int t) {  // after the last tile nothing waits for one
    if (group < GROUPS - 1 || t < tiles - 1) ptx::barrier_arrive(2 + (group + 1) % GROUPS, 2 * GROUP);
  };
  ptx::mbarrier_wait(smem.q_full, 0);
  if (group == GROUPS - 1) hand_on_turn(-1);

  // --- Mainloop: one K/V tile at a time --------------------------------------------------------------------
  for (int t = 0; t < tiles; ++t) {
    wait_for_turn();
    begin_qk(t);
    hand_on_turn(t);
    if (t > 0)
      begin_pv(t - 1);
    else
      ptx::wgmma_fence(), ptx::wgmma_commit();  // of nothing: the wait counts groups
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
  begin_pv(tiles - 1);
  ptx::wgmma_wait<0>();
  ptx::fence_registers(o), ptx::fence_registers(p);

  // --- Epilogue: add up the quad's sums, normalise, round to fp16, store -----------------------------------
  // The group's last product with Q is over, and any of its warps may have read any of its rows: O takes their place.
  ptx::barrier_sync(8 + group, GROUP);
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const float norm = 1.0f / quad_sum(row_sum[h]);
#pragma unroll
    for (int d = 0; d < D / 8; ++d)
      store2(swizzled(smem.Q, first_row + quad_row + 8 * h, 8 * d + first_column), o[d][2 * h] * norm,
             o[d][2 * h + 1] * norm);
  }
  __syncwarp();  // and leaves by 16 bytes per lane
#pragma unroll
  for (int i = lane; i < 16 * (D / 8); i += 32) {
    const int r = first_row + i / (D / 8), c = i % (D / 8) * 8;
    if (q0 + r < S) copy8(out + std::size_t(q0 + r) * D + c, swizzled(smem.Q, r, c), true);
  }
}

// --- launcher --------------------------------------------------------------------------------------------
template <int D, int GROUPS, int N, int SLOTS>
cudaError_t launch(const AttentionArgs& a) {
  constexpr int BYTES = sizeof(Smem<D, GROUPS, N, SLOTS>), M = GROUPS * 64;
  static_assert(BYTES <= 227 * 1024, "what sm_90 gives a block");
  const auto kernel = attention<D, GROUPS, N, SLOTS>;
  CUtensorMap q, k, v;
  if (const cudaError_t error = head_maps(a.shape, {{q, a.q, M}, {k, a.k, N}, {v, a.v, N}})) return error;
  if (const cudaError_t error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, BYTES))
    return error;
  const dim3 grid(ceil_div(a.shape.S, M), a.shape.H, a.shape.B);
  kernel<<<grid, (GROUPS + 1) * GROUP, BYTES, a.stream>>>(q, k, v, a.out, a.shape.H, a.shape.S, a.scale,
                                                          a.shape.causal);
  return cudaGetLastError();
}

}  // namespace

cudaError_t attention(const half* q, const half* k, const half* v, half* out, int B, int H, int S, int D, float scale,
                      int causal, void*, cudaStream_t stream) {
  const lab::AttentionArgs args{q, k, v, out, {B, H, S, D, causal != 0}, scale, stream};
  if (const cudaError_t error = check(args)) return error;
  return D == 64 ? launch<64, 4, 64, 8>(args) : launch<128, 2, 128, 3>(args);
}
