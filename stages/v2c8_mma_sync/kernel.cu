// V2c8: mma.sync instead of WMMA. Its register layout is documented, so nothing passes through shared memory: scores,
// weights, O and the running softmax stay in registers. The accumulator of Q K^T, packed to halves, is the A operand of
// P V. Four neighbouring lanes (a quad) hold a row, so a row's maximum takes two exchanges. And fewer instructions for the
// softmax: a weight takes one fmaf and an ex2 instead of expf's four instructions; only tiles with a hidden key are
// masked; O is rescaled only where a maximum has grown.
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
constexpr int STRIPE = 16;         // query rows of a warp: a tensor core's tile
constexpr int M = WARPS * STRIPE;  // query rows per block
constexpr int N = 64;              // keys per tile

constexpr float LARGEST_REFERENCE = 134217728.0f;  // 2^27: its rounding error, at most 4, is in all weights' exponents

template <int D>
struct Tile {
  static constexpr int LD = D + 8;  // padded pitch: eight neighbouring rows start in eight different groups of banks
  static_assert(LD % 8 == 0, "a 16-byte cp.async needs rows that start on 16 bytes");
};

// --- shared memory ---------------------------------------------------------------------------------------
template <int D>
struct Smem : Tile<D> {
  using Tile<D>::LD;
  alignas(16) half K[N][LD], V[N][LD];
};

template <int D>
__global__ void __launch_bounds__(THREADS, D == 64 ? 4 : 3)  // blocks that an SM has registers for
    attention(const half* __restrict__ q, const half* __restrict__ k, const half* __restrict__ v,
              half* __restrict__ out, int H, int S, float scale, bool causal) {  // q, k, v, out: [B, H, S, D]
  constexpr int LD = Tile<D>::LD;
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

  // --- Prologue: the first tiles on their way, Q in fragments, an empty running softmax --------------------
  issue_tile(smem.K, k, 0);
  issue_tile(smem.V, v, 0);
  const float scale_log2 = scale * LOG2_E;  // exp(scale x) is 2^(scale_log2 x)
  // Of a huge row: a power of two at or above scale_log2, whose product with the maximum is exact.
  const float power = __uint_as_float((__float_as_uint(scale_log2) + 0x7FFFFF) & 0x7F800000);
  // The accumulator layout, m16n8: of the warp's row quad_row + 8 h, columns 8 n + first_column and the next are
  // [n][2 h] and [n][2 h + 1].
  const int first_row = warp * STRIPE, quad_row = lane / 4, first_column = lane % 4 * 2;
  unsigned a_q[D / 16][4];  // Q: A operands of 16 columns each
  for (int kk = 0; kk < D / 16; ++kk)
    for (int j = 0; j < 4; ++j) {
      const int row = q0 + first_row + quad_row + j % 2 * 8;
      a_q[kk][j] = row < S ? half_pair_at(q + std::size_t(row) * D + 16 * kk + j / 2 * 8 + first_column) : 0;
    }
  float o[D / 8][4] = {};                   // O, [16 rows][D columns]
  float row_max[2] = {-FLT_MAX, -FLT_MAX};  // of s; not -inf: -inf - -inf is NaN
  float row_sum[2] = {};                    // of the lane's own columns only

  // --- Mainloop: one K/V tile at a time --------------------------------------------------------------------
  for (int t = 0; t < tiles; ++t) {
    __pipeline_wait_prior(1);  // all but the last group: K(t) has arrived, as far as this thread can see
    __syncthreads();           // now all can see it

    // Scores. K is stored [key][d], so the two halves of a B register are neighbours: one 32-bit load.
    float s[N / 8][4] = {};  // [16 rows][N keys]
#pragma unroll
    for (int kk = 0; kk < D / 16; ++kk)
      for (int n = 0; n < N / 8; ++n) {
        const half* column = &smem.K[8 * n + quad_row][16 * kk + first_column];
        const unsigned b[2] = {half_pair_at(column), half_pair_at(column + 8)};
        ptx::mma_m16n8k16(s[n], a_q[kk], b);
      }
    __syncthreads();  // all are done with K(t), whose slot may be filled
    issue_tile(smem.K, k, t + 1);

    // Only a tile on the diagonal or at the end of the keys has anything to hide.
    if ((t + 1) * N > S || (causal && (t + 1) * N > q0 + first_row + 1))
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const int row = q0 + first_row + quad_row;
        const int last = (causal ? min(row + 8 * h, S - 1) : S - 1) - (t * N + first_column);  // column it sees
#pragma unroll
        for (int n = 0; n < N / 8; ++n)
#pragma unroll
          for (int e = 0; e < 2; ++e)
            if (8 * n + e > last) s[n][2 * h + e] = -INFINITY;
      }

    // Online softmax: the row's new maximum, and what it does to everything summed so far. A weight is 2^(factor s - base),
    // one fmaf; the error r of base is in every weight of the row as 2^r, which cancels in O / l.
    unsigned p[N / 8][2];  // weights as halves
    float rescale[2];
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      float tile_max = fmaxf(s[0][2 * h], s[0][2 * h + 1]);
#pragma unroll
      for (int n = 1; n < N / 8; ++n) tile_max = fmaxf(tile_max, fmaxf(s[n][2 * h], s[n][2 * h + 1]));
      const float old_max = row_max[h];
      row_max[h] = fmaxf(old_max, quad_max(tile_max));
      const bool huge = fabsf(row_max[h] * scale_log2) > LARGEST_REFERENCE;
      const float factor = huge ? power : scale_log2, base = row_max[h] * factor;
      rescale[h] = ptx::ex2(old_max * factor - base);
      row_sum[h] *= rescale[h];
#pragma unroll
      for (int n = 0; n < N / 8; ++n) {
        float &p0 = s[n][2 * h], &p1 = s[n][2 * h + 1];
        p0 = ptx::ex2(fmaf(p0, factor, -base)), p1 = ptx::ex2(fmaf(p1, factor, -base));
        row_sum[h] += p0 + p1;
      }
    }
    if (__any_sync(FULL_WARP, rescale[0] < 1 || rescale[1] < 1))
#pragma unroll
      for (int d = 0; d < D / 8; ++d)
#pragma unroll
        for (int e = 0; e < 4; ++e) o[d][e] *= rescale[e / 2];
#pragma unroll
    for (int n = 0; n < N / 8; ++n)
#pragma unroll
      for (int h = 0; h < 2; ++h) p[n][h] = half_pair(s[n][2 * h], s[n][2 * h + 1]);
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
        const unsigned a[4] = {p[n / 8][0], p[n / 8][1], p[n / 8 + 1][0], p[n / 8 + 1][1]};
        ptx::mma_m16n8k16(o[d], a, b);
      }
    __syncthreads();  // all are done with V(t)
    issue_tile(smem.V, v, t + 1);
  }

  // --- Epilogue: add up the quad's sums, normalise, round to fp16, store -----------------------------------
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const float norm = 1.0f / quad_sum(row_sum[h]);
    const int row = q0 + first_row + quad_row + 8 * h;
    if (row >= S) continue;
    for (int d = 0; d < D / 8; ++d)
      store2(out + std::size_t(row) * D + 8 * d + first_column, o[d][2 * h] * norm, o[d][2 * h + 1] * norm);
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
