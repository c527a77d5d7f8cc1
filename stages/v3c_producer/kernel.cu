// V3c: a producer. In v3b thread 0 requests tiles, and waits for their slots, between the products of its warp. Here a
// fifth warp does nothing else: one of its threads is the producer. It runs ahead as far as there are slots; only
// mbarriers connect it with the consumer, the warpgroup that multiplies. K and V have barriers of their own, so each
// product waits for its own operand alone.
//
//   for each K/V tile:  m' = max(m, rowmax(s));  a = exp(m - m');  l = l a + sum(p);  O = O a + p V;  finally O / l
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
constexpr int GROUP = 128;           // threads of a warpgroup
constexpr int THREADS = GROUP + 32;  // the consumer and the producer's warp
constexpr int M = 64;                // query rows per block
constexpr int N = 64;                // keys per tile
constexpr int SLOTS = 2;             // tiles of K and of V in shared memory

// --- shared memory ---------------------------------------------------------------------------------------
// Tiles lie as the copy engine leaves them: in slabs of 64 columns, swizzled. The swizzle goes by the address, with a
// period of 1024 bytes, so every tile starts on 1024.
template <int D>
struct Smem {
  alignas(1024) half Q[D / SLAB][M][SLAB];  // swizzled, as K and V; takes the output at the end
  alignas(1024) half K[SLOTS][D / SLAB][N][SLAB];
  alignas(1024) half V[SLOTS][D / SLAB][N][SLAB];
  ptx::MBarrier q_full, k_full[SLOTS], k_empty[SLOTS], v_full[SLOTS], v_empty[SLOTS];  // of Q; of each slot
};

template <int D>
__global__ void __launch_bounds__(THREADS, D == 64 ? 4 : 2)  // blocks that an SM has room for
    attention(const __grid_constant__ CUtensorMap q, const __grid_constant__ CUtensorMap k,
              const __grid_constant__ CUtensorMap v, half* __restrict__ out, int H, int S, float scale, bool causal) {
  extern __shared__ __align__(1024) unsigned char shared[];
  Smem<D>& smem = *reinterpret_cast<Smem<D>*>(shared);

  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int q0 = blockIdx.x * M;  // first query row of this block
  const int head = blockIdx.z * H + blockIdx.y;
  out += std::size_t(head) * S * D;
  const int keys = causal ? min(S, q0 + M) : S;  // no row of this block sees a later key
  const int tiles = ceil_div(keys, N);

  // --- Prologue: the barriers ------------------------------------------------------------------------------
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(smem.q_full, 1);
    for (int slot = 0; slot < SLOTS; ++slot) {
      ptx::mbarrier_init(smem.k_full[slot], 1), ptx::mbarrier_init(smem.k_empty[slot], GROUP / 32);
      ptx::mbarrier_init(smem.v_full[slot], 1), ptx::mbarrier_init(smem.v_empty[slot], GROUP / 32);
    }
    ptx::fence_mbarrier_init();
  }
  __syncthreads();

  // --- Producer: one thread asks for Q, then for K and V, tile by tile --------------------------------------
  if (threadIdx.x >= GROUP) {
    // Tile t into slot t % SLOTS, once all warps are done with the tile before. Parity 1 passes on a fresh barrier.
    const auto request = [&](const CUtensorMap& map, auto& slots, auto& full, auto& empty, int t) {
      const int slot = t % SLOTS;
      ptx::mbarrier_wait(empty[slot], t / SLOTS % 2 ^ 1);
      ptx::mbarrier_arrive_expect_tx(full[slot], sizeof slots[slot]);
      ptx::tma_load_4d(slots[slot], map, 0, t * N, 0, head, full[slot]);
    };
    if (threadIdx.x == GROUP) {
      ptx::mbarrier_arrive_expect_tx(smem.q_full, sizeof smem.Q);
      ptx::tma_load_4d(smem.Q, q, 0, q0, 0, head, smem.q_full);
      for (int t = 0; t < tiles; ++t) {
        request(k, smem.K, smem.k_full, smem.k_empty, t);
        request(v, smem.V, smem.v_full, smem.v_empty, t);
      }
    }
    return;
  }

  // --- Consumer: an empty running softmax ------------------------------------------------------------------
  // The m64nN accumulator layout: of the warp's row quad_row + 8 h, columns 8 n + first_column and the next are
  // [n][2 h] and [n][2 h + 1].
  const int first_row = warp * 16, quad_row = lane / 4, first_column = lane % 4 * 2;
  float s[N / 8][4];                        // scores, then weights, [64 rows][N keys]
  unsigned p[N / 16][4];                    // weights as halves: A operands of 16 keys each
  float o[D / 8][4] = {};                   // O, [64 rows][D columns]
  float row_max[2] = {-FLT_MAX, -FLT_MAX};  // of s; not -inf: -inf - -inf is NaN
  float row_sum[2] = {};                    // of the lane's own columns only
  const float scale_log2 = scale * LOG2_E;  // exp(scale x) is 2^(scale_log2 x)
  ptx::mbarrier_wait(smem.q_full, 0);

  // --- Mainloop: one K/V tile at a time --------------------------------------------------------------------
  for (int t = 0; t < tiles; ++t) {
    const int slot = t % SLOTS;
    ptx::mbarrier_wait(smem.k_full[slot], t / SLOTS % 2);

    // s = Q K^T: A [64][D] and B [D][N], both K-major, from shared memory, 16 columns at a time.
    ptx::wgmma_fence();
#pragma unroll
    for (int c = 0; c < D; c += 16)
      ptx::wgmma<ptx::K_MAJOR>(s, ptx::descriptor(smem.Q, 0, c), ptx::descriptor(smem.K[slot], 0, c), c > 0);
    ptx::wgmma_commit();
    ptx::wgmma_wait<0>();
    ptx::fence_registers(s);
    if (lane == 0) ptx::mbarrier_arrive(smem.k_empty[slot]);

    // Only a tile on the diagonal or at the end of the keys has anything to hide.
    if ((t + 1) * N > S || (causal && (t + 1) * N > q0 + first_row + 1))
      hide_keys(s, q0 + first_row + quad_row, t * N + first_column, S, causal);

    // Online softmax: the row's new maximum, and what it does to everything summed so far.
    float rescale[2];
    weigh(s, scale_log2, row_max, row_sum, rescale);
    rescale_o(o, rescale);
    pack(p, s);

    ptx::mbarrier_wait(smem.v_full[slot], t / SLOTS % 2);
    // o += P V: A [64][N] from registers, B [N][D] MN-major, 16 keys at a time.
    ptx::wgmma_fence();
#pragma unroll
    for (int n = 0; n < N; n += 16) ptx::wgmma<ptx::MN_MAJOR>(o, p[n / 16], ptx::descriptor(smem.V[slot], n, 0));
    ptx::wgmma_commit();
    ptx::wgmma_wait<0>();
    ptx::fence_registers(o), ptx::fence_registers(p);
    if (lane == 0) ptx::mbarrier_arrive(smem.v_empty[slot]);
  }

  // --- Epilogue: add up the quad's sums, normalise, round to fp16, store -----------------------------------
  // The last product with Q is over, and any warp may have read any of its rows: O takes their place.
  ptx::barrier_sync(1, GROUP);  // the producer's warp does not come
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
template <int D>
cudaError_t launch(const AttentionArgs& a) {
  constexpr int BYTES = sizeof(Smem<D>);
  static_assert(BYTES <= 227 * 1024, "what sm_90 gives a block");
  CUtensorMap q, k, v;
  if (const cudaError_t error = head_maps(a.shape, {{q, a.q, M}, {k, a.k, N}, {v, a.v, N}})) return error;
  if (const cudaError_t error = cudaFuncSetAttribute(attention<D>, cudaFuncAttributeMaxDynamicSharedMemorySize, BYTES))
    return error;
  const dim3 grid(ceil_div(a.shape.S, M), a.shape.H, a.shape.B);
  attention<D><<<grid, THREADS, BYTES, a.stream>>>(q, k, v, a.out, a.shape.H, a.shape.S, a.scale, a.shape.causal);
  return cudaGetLastError();
}

}  // namespace

cudaError_t attention(const half* q, const half* k, const half* v, half* out, int B, int H, int S, int D, float scale,
                      int causal, void*, cudaStream_t stream) {
  const lab::AttentionArgs args{q, k, v, out, {B, H, S, D, causal != 0}, scale, stream};
  if (const cudaError_t error = check(args)) return error;
  return D == 64 ? launch<64>(args) : launch<128>(args);
}
