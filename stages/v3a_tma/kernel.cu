// V3a: TMA. One thread names a box of a tensor and an address in shared memory. The copy engine computes the addresses,
// swizzles, writes zeros where the tensor ends, and counts the bytes on an mbarrier. Two mbarriers per slot replace
// the block barrier: `full` counts the bytes of its tile, `empty` the warps that have read the tile.
//
//   for each K/V tile:  m' = max(m, rowmax(s));  a = exp(m - m');  l = l a + sum(p);  O = O a + p V;  finally O / l
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cfloat>

#include "common/attention.hpp"
#include "common/hopper/head_map.hpp"
#include "common/hopper/swizzle.cuh"
#include "common/ptx/ex2.cuh"
#include "common/ptx/mbarrier.cuh"
#include "common/ptx/mma.cuh"
#include "common/ptx/tma.cuh"
#include "common/tile.cuh"
#include "common/warp.cuh"

namespace {
using namespace lab;

// --- tile constants --------------------------------------------------------------------------------------
constexpr int WARPS = 4;
constexpr int THREADS = WARPS * 32;
constexpr int STRIPE = 16;              // rows of a tensor core's tile
constexpr int STRIPES = 2;              // of a warp
constexpr int ROWS = STRIPES * STRIPE;  // query rows of a warp
constexpr int M = WARPS * ROWS;         // query rows per block
constexpr int N = 64;                   // keys per tile

constexpr float LARGEST_REFERENCE = 134217728.0f;  // 2^27: its rounding error, at most 4, is in all weights' exponents

template <int D>
struct Tile {
  static constexpr int SLOTS = D == 64 ? 3 : 2;  // tiles of K and V in shared memory
  static constexpr bool KEEPS_Q = D == 64;       // in registers; else its fragments are read per tile
};

// --- shared memory ---------------------------------------------------------------------------------------
// Tiles lie as the copy engine leaves them: in slabs of 64 columns, swizzled. The swizzle goes by the address, with a
// period of 1024 bytes, so every tile starts on 1024.
template <int D>
struct Smem : Tile<D> {
  using Tile<D>::SLOTS;
  alignas(1024) half Q[D / SLAB][M][SLAB];  // swizzled, as K and V; takes the output at the end
  alignas(1024) half K[SLOTS][D / SLAB][N][SLAB];
  alignas(1024) half V[SLOTS][D / SLAB][N][SLAB];
  ptx::MBarrier q_full, full[SLOTS], empty[SLOTS];  // of Q; of each slot
};

template <int D>
__global__ void __launch_bounds__(THREADS, 2)
    attention(const __grid_constant__ CUtensorMap q, const __grid_constant__ CUtensorMap k,
              const __grid_constant__ CUtensorMap v, half* __restrict__ out, int H, int S, float scale, bool causal) {
  constexpr int SLOTS = Tile<D>::SLOTS;
  constexpr bool KEEPS_Q = Tile<D>::KEEPS_Q;
  extern __shared__ __align__(1024) unsigned char shared[];
  Smem<D>& smem = *reinterpret_cast<Smem<D>*>(shared);

  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int q0 = blockIdx.x * M;  // first query row of this block
  const int head = blockIdx.z * H + blockIdx.y;
  out += std::size_t(head) * S * D;
  const int keys = causal ? min(S, q0 + M) : S;  // no row of this block sees a later key
  const int tiles = ceil_div(keys, N);

  // --- Prologue: the barriers, Q and the first tiles on their way, an empty running softmax ------------------
  // A box begins at (column, row, slab, head), the order of the map's dimensions.
  const auto request = [&](int t) {  // by one thread: tile t of K and V, into its slot
    const int slot = t % SLOTS;
    ptx::mbarrier_arrive_expect_tx(smem.full[slot], sizeof smem.K[slot] + sizeof smem.V[slot]);
    ptx::tma_load_4d(smem.K[slot], k, 0, t * N, 0, head, smem.full[slot]);
    ptx::tma_load_4d(smem.V[slot], v, 0, t * N, 0, head, smem.full[slot]);
  };
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(smem.q_full, 1);
    for (int slot = 0; slot < SLOTS; ++slot) {
      ptx::mbarrier_init(smem.full[slot], 1), ptx::mbarrier_init(smem.empty[slot], WARPS);
    }
    ptx::fence_mbarrier_init();
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    ptx::mbarrier_arrive_expect_tx(smem.q_full, sizeof smem.Q);
    ptx::tma_load_4d(smem.Q, q, 0, q0, 0, head, smem.q_full);
    for (int t = 0; t < min(SLOTS - 1, tiles); ++t) request(t);
  }
  const float scale_log2 = scale * LOG2_E;  // exp(scale x) is 2^(scale_log2 x)
  // Of a huge row: a power of two at or above scale_log2, whose product with the maximum is exact.
  const float power = __uint_as_float((__float_as_uint(scale_log2) + 0x7FFFFF) & 0x7F800000);
  // The accumulator layout, m16n8: of a stripe's row quad_row + 8 h, columns 8 n + first_column and the next are
  // [n][2 h] and [n][2 h + 1].
  const int first_row = warp * ROWS, quad_row = lane / 4, first_column = lane % 4 * 2;
  const auto load_q = [&](unsigned(&a)[4], int i, int kk) {  // stripe i, columns 16 kk ..
    ptx::ldmatrix_x4(a, swizzled(smem.Q, first_row + i * STRIPE + lane % 16, 16 * kk + lane / 16 * 8));
  };
  ptx::mbarrier_wait(smem.q_full, 0);
  unsigned a_q[STRIPES][KEEPS_Q ? D / 16 : 1][4];  // Q: A operands of 16 columns each
  for (int i = 0; i < STRIPES; ++i)
    for (int kk = 0; kk < D / 16 && KEEPS_Q; ++kk) load_q(a_q[i][kk], i, kk);
  float o[STRIPES][D / 8][4] = {};                 // O, [16 rows][D columns] each
  float row_max[STRIPES][2], row_sum[STRIPES][2];  // of s; row_sum: of the lane's own columns only
  for (int i = 0; i < STRIPES; ++i)
    for (int h = 0; h < 2; ++h) row_max[i][h] = -FLT_MAX, row_sum[i][h] = 0.0f;  // not -inf: -inf - -inf is NaN

  // --- Mainloop: one K/V tile at a time --------------------------------------------------------------------
  for (int t = 0; t < tiles; ++t) {
    // The slot of tile t - 1 is next to be filled, once all warps are done with it. Parity 1 passes on a fresh barrier.
    if (const int next = t + SLOTS - 1; threadIdx.x == 0 && next < tiles) {
      ptx::mbarrier_wait(smem.empty[next % SLOTS], next / SLOTS % 2 ^ 1);
      ptx::fence_proxy_async();  // ldmatrix has read the slot by a different proxy than the copy engine's
      request(next);
    }
    ptx::mbarrier_wait(smem.full[t % SLOTS], t / SLOTS % 2);
    auto &K = smem.K[t % SLOTS], &V = smem.V[t % SLOTS];

    // Scores: 16 keys and 16 columns at a time, for all stripes of the warp.
    float s[STRIPES][N / 8][4] = {};  // [16 rows][N keys] each
#pragma unroll
    for (int kk = 0; kk < D / 16; ++kk) {
      for (int i = 0; i < STRIPES && !KEEPS_Q; ++i) load_q(a_q[i][0], i, kk);
      for (int n = 0; n < N; n += 16) {  // n rows further on the swizzle is the same
        unsigned b[2][2];
        ptx::ldmatrix_x4(b[0], b[1], swizzled(K, lane % 8 + lane / 16 * 8, 16 * kk + lane / 8 % 2 * 8) + n * SLAB);
        for (int i = 0; i < STRIPES; ++i)
          for (int j = 0; j < 2; ++j) ptx::mma_m16n8k16(s[i][n / 8 + j], a_q[i][KEEPS_Q ? kk : 0], b[j]);
      }
    }

    // Only a tile on the diagonal or at the end of the keys has anything to hide.
    if ((t + 1) * N > S || (causal && (t + 1) * N > q0 + first_row + 1))
      for (int i = 0; i < STRIPES; ++i)
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          const int row = q0 + first_row + i * STRIPE + quad_row;
          const int last = (causal ? min(row + 8 * h, S - 1) : S - 1) - (t * N + first_column);  // column it sees
#pragma unroll
          for (int n = 0; n < N / 8; ++n)
#pragma unroll
            for (int e = 0; e < 2; ++e)
              if (8 * n + e > last) s[i][n][2 * h + e] = -INFINITY;
        }

    // Online softmax: the row's new maximum, and what it does to everything summed so far. A weight is 2^(factor s - base),
    // one fmaf; the error r of base is in every weight of the row as 2^r, which cancels in O / l.
    unsigned p[STRIPES][N / 16][4];  // weights as halves: A operands of 16 keys each
#pragma unroll
    for (int i = 0; i < STRIPES; ++i) {
      float rescale[2];
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        float tile_max = fmaxf(s[i][0][2 * h], s[i][0][2 * h + 1]);
#pragma unroll
        for (int n = 1; n < N / 8; ++n) tile_max = fmaxf(tile_max, fmaxf(s[i][n][2 * h], s[i][n][2 * h + 1]));
        const float old_max = row_max[i][h];
        row_max[i][h] = fmaxf(old_max, quad_max(tile_max));
        const bool huge = fabsf(row_max[i][h] * scale_log2) > LARGEST_REFERENCE;
        const float factor = huge ? power : scale_log2, base = row_max[i][h] * factor;
        rescale[h] = ptx::ex2(old_max * factor - base);
        row_sum[i][h] *= rescale[h];
#pragma unroll
        for (int n = 0; n < N / 8; ++n) {
          float &p0 = s[i][n][2 * h], &p1 = s[i][n][2 * h + 1];
          p0 = ptx::ex2(fmaf(p0, factor, -base)), p1 = ptx::ex2(fmaf(p1, factor, -base));
          row_sum[i][h] += p0 + p1;
        }
      }
      if (__any_sync(FULL_WARP, rescale[0] < 1 || rescale[1] < 1))
#pragma unroll
        for (int d = 0; d < D / 8; ++d)
#pragma unroll
          for (int e = 0; e < 4; ++e) o[i][d][e] *= rescale[e / 2];
#pragma unroll
      for (int n = 0; n < N / 8; ++n)
#pragma unroll
        for (int h = 0; h < 2; ++h) p[i][n / 2][n % 2 * 2 + h] = half_pair(s[i][n][2 * h], s[i][n][2 * h + 1]);
    }

    // P V: 16 keys and 16 columns at a time. Two neighbouring score tiles are one A.
    for (int n = 0; n < N; n += 16)
#pragma unroll
      for (int d = 0; d < D; d += 16) {
        unsigned b[2][2];
        ptx::ldmatrix_x4_trans(b[0], b[1], swizzled(V, lane % 16, d + lane / 16 * 8) + n * SLAB);
        for (int i = 0; i < STRIPES; ++i)
          for (int j = 0; j < 2; ++j) ptx::mma_m16n8k16(o[i][d / 8 + j], p[i][n / 16], b[j]);
      }
    __syncwarp();
    if (lane == 0) ptx::mbarrier_arrive(smem.empty[t % SLOTS]);
  }

  // --- Epilogue: add up the quad's sums, normalise, round to fp16, store -----------------------------------
  __syncwarp();  // the last read of the warp's rows of Q is over: the output takes their place
#pragma unroll
  for (int i = 0; i < STRIPES; ++i)
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const float norm = 1.0f / quad_sum(row_sum[i][h]);
      const int r = first_row + i * STRIPE + quad_row + 8 * h;
#pragma unroll
      for (int d = 0; d < D / 8; ++d)
        store2(swizzled(smem.Q, r, 8 * d + first_column), o[i][d][2 * h] * norm, o[i][d][2 * h + 1] * norm);
    }
  __syncwarp();  // and leaves by 16 bytes per lane
#pragma unroll
  for (int i = lane; i < ROWS * (D / 8); i += 32) {
    const int r = first_row + i / (D / 8), c = i % (D / 8) * 8;
    if (q0 + r < S) copy8(out + std::size_t(q0 + r) * D + c, swizzled(smem.Q, r, c), true);
  }
}

// --- launcher --------------------------------------------------------------------------------------------
template <int D>
cudaError_t launch(const AttentionArgs& a) {
  constexpr int BYTES = sizeof(Smem<D>);
  static_assert(BYTES <= 227 * 1024, "what sm_90 gives a block");
  CUtensorMap q, k, v;  // in boxes of M, N and N rows of one head
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
