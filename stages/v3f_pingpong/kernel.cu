// V3f: ping-pong. Warpgroups that wait for the same tile multiply at the same time, and then all compute exponentials
// while the tensor cores idle. So they take turns: a group that has begun Q K hands the turn to the next group by a named
// barrier, and computes its weights while the other groups' products run.
//
//   for each K/V tile t:  my turn: s = Q K(t) begins; next group's turn; O = O + p V(t - 1) begins;
//                         s is there: m' = max(m, rowmax(s)), a = exp(m - m'),
//                         p' = exp(s - m'), l = l a + sum(p');  O is there: O = O a, p = p';  finally O / l
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cfloat>

#include "common/attention.hpp"
#include "common/hopper/head_map.hpp"
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
constexpr int GROUP = 128;  // threads of a warpgroup
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
  float row_max[2] = {-FLT_MAX, -FLT_MAX};  // of s; not -inf: -inf - -inf is NaN
  float row_sum[2] = {};                    // of the lane's own columns only
  const float scale_log2 = scale * LOG2_E;  // exp(scale x) is 2^(scale_log2 x)

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
    if (lane == 0) ptx::mbarrier_arrive(smem.k_empty[slot_of(t)]);

    // Only a tile on the diagonal or at the end of the keys has anything to hide.
    if ((t + 1) * N > S || (causal && (t + 1) * N > q0 + first_row + 1))
      hide_keys(s, q0 + first_row + quad_row, t * N + first_column, S, causal);

    // Online softmax: the row's new maximum, and what it does to everything summed so far. Always true: at D = 128 this
    // keeps ptxas 13.0 from moving the wait for O in front of the exponentials.
    float rescale[2] = {};
    if (D == 64 || q0 < S) weigh(s, scale_log2, row_max, row_sum, rescale);

    ptx::wgmma_wait<0>();
    ptx::fence_registers(o), ptx::fence_registers(p);
    if (t > 0 && lane == 0) ptx::mbarrier_arrive(smem.v_empty[slot_of(t - 1)]);
    rescale_o(o, rescale);
    pack(p, s);
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
