// V2c9: 32 query rows per warp, two stripes of 16: every B operand that is loaded from shared memory serves two
// products.
//
//   for each K/V tile:  m' = max(m, rowmax(s));  a = exp(m - m');  l = l a + sum(p);  O = O a + p V;  finally O / l
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include <cfloat>

#include "common/attention.hpp"
#include "common/ptx/ex2.cuh"
#include "common/ptx/mma.cuh"
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

constexpr float LARGEST_REFERENCE = 134217728.0f;  // 2^27: its rounding error, at most 4, is in all weights' exponents

template <int D>
struct Tile {
  static constexpr int N = D == 64 ? 64 : 32;  // keys per tile
  static constexpr int LD = D + 8;  // padded pitch: eight neighbouring rows start in eight different groups of banks
  static_assert(LD % 8 == 0, "a 16-byte cp.async needs rows that start on 16 bytes");
  static constexpr bool KEEPS_Q = D == 64;  // in registers; else its fragments are read per tile
};

// --- shared memory ---------------------------------------------------------------------------------------
template <int D>
struct Smem : Tile<D> {
  using Tile<D>::N, Tile<D>::LD;
  alignas(16) half Q[M][LD], K[N][LD], V[N][LD];
};

template <int D>
__global__ void __launch_bounds__(THREADS, 2)
    attention(const half* __restrict__ q, const half* __restrict__ k, const half* __restrict__ v,
              half* __restrict__ out, int H, int S, float scale, bool causal) {  // q, k, v, out: [B, H, S, D]
  constexpr int N = Tile<D>::N, LD = Tile<D>::LD;
  constexpr bool KEEPS_Q = Tile<D>::KEEPS_Q;
  extern __shared__ __align__(16) unsigned char shared[];
  Smem<D>& smem = *reinterpret_cast<Smem<D>*>(shared);

  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int q0 = blockIdx.x * M;  // first query row of this block
  const std::size_t head = (std::size_t(blockIdx.z) * H + blockIdx.y) * S * D;
  q += head, k += head, v += head, out += head;
  const int keys = causal ? min(S, q0 + M) : S;  // no row of this block sees a later key
  const int tiles = ceil_div(keys, N);

  // Queues the copy of tile t of K or V, as one group. Rows from `keys` on, which no query of this block sees, become
  // zeros; of a tile past them nothing is copied.
  const auto issue_tile = [&](half(&to)[N][LD], const half* from, int t) {
    const int first = threadIdx.x / (D / 8), c = threadIdx.x % (D / 8) * 8;
    if (t < tiles)
#pragma unroll
      for (int n = first; n < N; n += THREADS / (D / 8)) {
        const int key = t * N + n;
        __pipeline_memcpy_async(&to[n][c], key < keys ? from + key * D + c : from, 16, key < keys ? 0 : 16);
      }
    __pipeline_commit();  // also when empty: the waits below count groups
  };

  // --- Prologue: the first tiles on their way, the Q tile, an empty running softmax ------------------------
  issue_tile(smem.K, k, 0);
  issue_tile(smem.V, v, 0);
  const float scale_log2 = scale * LOG2_E;  // exp(scale x) is 2^(scale_log2 x)
  // Of a huge row: a power of two at or above scale_log2, whose product with the maximum is exact.
  const float power = __uint_as_float((__float_as_uint(scale_log2) + 0x7FFFFF) & 0x7F800000);
  for (int i = threadIdx.x; i < M * (D / 8); i += THREADS) {
    const int r = i / (D / 8), c = i % (D / 8) * 8;
    copy8(&smem.Q[r][c], q + std::size_t(q0 + r) * D + c, q0 + r < S);
  }
  // The accumulator layout, m16n8: of a stripe's row quad_row + 8 h, columns 8 n + first_column and the next are
  // [n][2 h] and [n][2 h + 1].
  const int first_row = warp * ROWS, quad_row = lane / 4, first_column = lane % 4 * 2;
  const auto load_q = [&](unsigned(&a)[4], int i, int kk) {  // stripe i, columns 16 kk ..
    for (int j = 0; j < 4; ++j) {
      const int r = first_row + i * STRIPE + quad_row + j % 2 * 8;
      a[j] = half_pair_at(&smem.Q[r][16 * kk + j / 2 * 8 + first_column]);
    }
  };
  unsigned a_q[STRIPES][KEEPS_Q ? D / 16 : 1][4];  // Q: A operands of 16 columns each
  if (KEEPS_Q) __syncthreads();                    // the Q tile is there; elsewhere the mainloop's barrier sees to that
  for (int i = 0; i < STRIPES; ++i)
    for (int kk = 0; kk < D / 16 && KEEPS_Q; ++kk) load_q(a_q[i][kk], i, kk);
  float o[STRIPES][D / 8][4] = {};                 // O, [16 rows][D columns] each
  float row_max[STRIPES][2], row_sum[STRIPES][2];  // of s; row_sum: of the lane's own columns only
  for (int i = 0; i < STRIPES; ++i)
    for (int h = 0; h < 2; ++h) row_max[i][h] = -FLT_MAX, row_sum[i][h] = 0.0f;  // not -inf: -inf - -inf is NaN

  // --- Mainloop: one K/V tile at a time --------------------------------------------------------------------
  for (int t = 0; t < tiles; ++t) {
    __pipeline_wait_prior(1);  // all but the last group: K(t) has arrived, as far as this thread can see
    __syncthreads();           // now all can see it

    // Scores. K is stored [key][d], so the two halves of a B register are neighbours: one 32-bit load.
    float s[STRIPES][N / 8][4] = {};  // [16 rows][N keys] each
#pragma unroll
    for (int kk = 0; kk < D / 16; ++kk) {
      for (int i = 0; i < STRIPES && !KEEPS_Q; ++i) load_q(a_q[i][0], i, kk);
      for (int n = 0; n < N / 8; ++n) {
        const half* column = &smem.K[8 * n + quad_row][16 * kk + first_column];
        const unsigned b[2] = {half_pair_at(column), half_pair_at(column + 8)};
        for (int i = 0; i < STRIPES; ++i) ptx::mma_m16n8k16(s[i][n], a_q[i][KEEPS_Q ? kk : 0], b);
      }
    }
    __syncthreads();  // all are done with K(t), whose slot may be filled
    issue_tile(smem.K, k, t + 1);

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
    __pipeline_wait_prior(1);  // V(t) has arrived, as far as this thread can see
    __syncthreads();           // now all can see it

    // P V. Two neighbouring score tiles are one A. V is stored [key][d]: the halves of a B register lie a row apart.
#pragma unroll
    for (int n = 0; n < N; n += 16)
#pragma unroll
      for (int d = 0; d < D / 8; ++d) {
        const int key = n + first_column, column = 8 * d + quad_row;
        const unsigned b[2] = {half_pair(smem.V[key][column], smem.V[key + 1][column]),
                               half_pair(smem.V[key + 8][column], smem.V[key + 9][column])};
        for (int i = 0; i < STRIPES; ++i) ptx::mma_m16n8k16(o[i][d], p[i][n / 16], b);
      }
    __syncthreads();  // all are done with V(t)
    issue_tile(smem.V, v, t + 1);
  }

  // --- Epilogue: add up the quad's sums, normalise, round to fp16, store -----------------------------------
  for (int i = 0; i < STRIPES; ++i)
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const float norm = 1.0f / quad_sum(row_sum[i][h]);
      const int row = q0 + first_row + i * STRIPE + quad_row + 8 * h;
      if (row >= S) continue;
      for (int d = 0; d < D / 8; ++d)
        store2(out + std::size_t(row) * D + 8 * d + first_column, o[i][d][2 * h] * norm, o[i][d][2 * h + 1] * norm);
    }
}

// --- launcher --------------------------------------------------------------------------------------------
template <int D>
cudaError_t launch(const AttentionArgs& a) {
  constexpr int BYTES = sizeof(Smem<D>);
  static_assert(BYTES <= 99 * 1024, "what sm_89 gives a block");
  if (const cudaError_t error = cudaFuncSetAttribute(attention<D>, cudaFuncAttributeMaxDynamicSharedMemorySize, BYTES))
    return error;
  const dim3 grid(ceil_div(a.shape.S, M), a.shape.H, a.shape.B);
  attention<D><<<grid, THREADS, BYTES, a.stream>>>(a.q, a.k, a.v, a.out, a.shape.H, a.shape.S, a.scale, a.shape.causal);
  return cudaGetLastError();
}

}  // namespace

cudaError_t attention(const half* q, const half* k, const half* v, half* out, int B, int H, int S, int D, float scale,
                      int causal, void*, cudaStream_t stream) {
  const lab::AttentionArgs args{q, k, v, out, {B, H, S, D, causal != 0}, scale, stream};
  if (const cudaError_t error = check(args)) return error;
  return D == 64 ? launch<64>(args) : launch<128>(args);
}
