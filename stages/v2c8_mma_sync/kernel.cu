// V2c8: mma.sync instead of WMMA. Its register layout is documented, so nothing passes through shared memory: scores,
// weights, O and the running softmax stay in registers. The accumulator of Q K^T, packed to halves, is the A operand of
// P V. Four neighbouring lanes (a quad) hold a row, so a row's maximum takes two exchanges.
//
//   for each K/V tile:  m' = max(m, rowmax(s));  a = exp(m - m');  l = l a + sum(p);  O = O a + p V;  finally O / l
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include <cfloat>

#include "common/attention.hpp"
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

template <int D>
__global__ void __launch_bounds__(THREADS, D == 64 ? 4 : 3)  // blocks that an SM has registers for
    attention(const half* __restrict__ q, const half* __restrict__ k, const half* __restrict__ v,
              half* __restrict__ out, int H, int S, float scale, bool causal) {  // q, k, v, out: [B, H, S, D]
  constexpr int LD = D + 8;  // padded pitch: eight neighbouring rows start in eight different groups of banks
  static_assert(LD % 8 == 0, "a 16-byte cp.async needs rows that start on 16 bytes");
  __shared__ alignas(16) half sK[N][LD], sV[N][LD];

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
  issue_tile(sK, k, 0);
  issue_tile(sV, v, 0);
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
  float row_max[2] = {-FLT_MAX, -FLT_MAX};  // of s scale; not -inf: -inf - -inf is NaN
  float row_sum[2] = {};                    // of the lane's own columns only

  // --- Mainloop: one K/V tile at a time --------------------------------------------------------------------
  for (int t = 0; t < tiles; ++t) {
    __pipeline_wait_prior(1);  // all but the last group: K(t) has arrived, as far as this thread can see
    __syncthreads();           // now all can see it

    // Scores. K is stored [key][d], so the two halves of a B register are neighbours: one 32-bit load.
    float s[N / 8][4] = {};  // [16 rows][N keys]
#pragma unroll
    for (int n = 0; n < N / 8; ++n)
      for (int kk = 0; kk < D / 16; ++kk) {
        const half* column = &sK[8 * n + quad_row][16 * kk + first_column];
        const unsigned b[2] = {half_pair_at(column), half_pair_at(column + 8)};
        ptx::mma_m16n8k16(s[n], a_q[kk], b);
      }
    __syncthreads();  // all are done with K(t), whose slot may be filled
    issue_tile(sK, k, t + 1);

    // Online softmax: the row's new maximum, and what it does to everything summed so far.
    unsigned p[N / 8][2];  // weights as halves
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int row = q0 + first_row + quad_row + 8 * h;
      float tile_max = -INFINITY;
      for (int n = 0; n < N / 8; ++n)
        for (int j = 0; j < 2; ++j) {
          const int key = t * N + 8 * n + first_column + j;
          const bool visible = key < S && (!causal || key <= row);
          s[n][2 * h + j] = visible ? s[n][2 * h + j] * scale : -INFINITY;
          tile_max = fmaxf(tile_max, s[n][2 * h + j]);
        }
      const float old_max = row_max[h];
      row_max[h] = fmaxf(old_max, quad_max(tile_max));
      const float rescale = __expf(old_max - row_max[h]);
      row_sum[h] *= rescale;
      for (int n = 0; n < N / 8; ++n) {
        const float p0 = __expf(s[n][2 * h] - row_max[h]), p1 = __expf(s[n][2 * h + 1] - row_max[h]);
        row_sum[h] += p0 + p1;
        p[n][h] = half_pair(p0, p1);
      }
      for (int d = 0; d < D / 8; ++d) o[d][2 * h] *= rescale, o[d][2 * h + 1] *= rescale;
    }
    __pipeline_wait_prior(1);  // V(t) has arrived, as far as this thread can see
    __syncthreads();           // now all can see it

    // P V. Two neighbouring score tiles are one A. V is stored [key][d]: the halves of a B register lie a row apart.
    for (int n = 0; n < N; n += 16)
#pragma unroll
      for (int d = 0; d < D / 8; ++d) {
        const int key = n + first_column, column = 8 * d + quad_row;
        const unsigned b[2] = {half_pair(sV[key][column], sV[key + 1][column]),
                               half_pair(sV[key + 8][column], sV[key + 9][column])};
        const unsigned a[4] = {p[n / 8][0], p[n / 8][1], p[n / 8 + 1][0], p[n / 8 + 1][1]};
        ptx::mma_m16n8k16(o[d], a, b);
      }
    __syncthreads();  // all are done with V(t)
    issue_tile(sV, v, t + 1);
  }

  // --- Epilogue: add up the quad's sums, normalise, round to fp16, store -----------------------------------
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
  const dim3 grid(ceil_div(a.shape.S, M), a.shape.H, a.shape.B);
  attention<D><<<grid, THREADS, 0, a.stream>>>(a.q, a.k, a.v, a.out, a.shape.H, a.shape.S, a.scale, a.shape.causal);
  return cudaGetLastError();
}

}  // namespace

cudaError_t attention(const half* q, const half* k, const half* v, half* out, int B, int H, int S, int D, float scale,
                      int causal, void*, cudaStream_t stream) {
  const lab::AttentionArgs args{q, k, v, out, {B, H, S, D, causal != 0}, scale, stream};
  if (const cudaError_t error = check(args)) return error;
  return D == 64 ? launch<64>(args) : launch<128>(args);
}
