// V2d: ldmatrix, and an XOR swizzle instead of padding. One ldmatrix.x4 fills two B operands (with .trans for V, whose
// rows lie the other way). It reads rows of 16 bytes, eight at a time, which must lie in eight different groups of
// banks: chunk c of row r is stored at place c ^ (r % 8). K and V share a ring of slots.
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
constexpr int N = 64;                   // keys per tile

constexpr float LARGEST_REFERENCE = 134217728.0f;  // 2^27: its rounding error, at most 4, is in all weights' exponents

template <int D>
struct Tile {
  static constexpr int SLOTS = D == 64 ? 3 : 2;  // tiles of K and V in shared memory
  static constexpr bool KEEPS_Q = D == 64;       // in registers; else its fragments are read per tile
};

// --- shared memory ---------------------------------------------------------------------------------------
template <int D>
struct Smem : Tile<D> {
  using Tile<D>::SLOTS;
  alignas(16) half Q[M][D], K[SLOTS][N][D], V[SLOTS][N][D];  // Q takes the output at the end
};

// Where column c of row r lies in such a tile.
template <int R, int D>
__device__ half* swizzled(half (&tile)[R][D], unsigned r, unsigned c) {
  return &tile[r][(c / 8 ^ r % 8) * 8 + c % 8];
}

template <int D>
__global__ void __launch_bounds__(THREADS, 2)
    attention(const half* __restrict__ q, const half* __restrict__ k, const half* __restrict__ v,
              half* __restrict__ out, int H, int S, float scale, bool causal) {  // q, k, v, out: [B, H, S, D]
  constexpr int SLOTS = Tile<D>::SLOTS;
  constexpr bool KEEPS_Q = Tile<D>::KEEPS_Q;
  extern __shared__ __align__(16) unsigned char shared[];
  Smem<D>& smem = *reinterpret_cast<Smem<D>*>(shared);

  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int q0 = blockIdx.x * M;  // first query row of this block
  const std::size_t head = (std::size_t(blockIdx.z) * H + blockIdx.y) * S * D;
  q += head, k += head, v += head, out += head;
  const int keys = causal ? min(S, q0 + M) : S;  // no row of this block sees a later key
  const int tiles = ceil_div(keys, N);

  // Queues the copies of tile t of K and V, as one group. Rows from `keys` on, which no query of this block sees, become
  // zeros; of a tile past them nothing is copied.
  const auto issue_tile = [&](int t) {
    const auto copy = [&](half(&to)[N][D], const half* from) {
      static_assert(THREADS / (D / 8) % 8 == 0, "rows 8 apart are swizzled alike");
      const int first = threadIdx.x / (D / 8), c = threadIdx.x % (D / 8) * 8;
      half* const place = swizzled(to, first, c);  // the other rows' lie at constants from it
      if ((t + 1) * N <= keys) {                   // a whole tile needs no test per row
        from += (t * N + first) * D + c;
        for (int n = 0; n < N; n += THREADS / (D / 8)) __pipeline_memcpy_async(place + n * D, from + n * D, 16);
      } else
        for (int n = 0; n < N; n += THREADS / (D / 8)) {
          const int key = t * N + first + n;
          __pipeline_memcpy_async(place + n * D, from + (key < keys ? key * D + c : 0), 16, key < keys ? 0 : 16);
        }
    };
    if (t < tiles) copy(smem.K[t % SLOTS], k), copy(smem.V[t % SLOTS], v);
    __pipeline_commit();  // also when empty: the waits below count groups
  };

  // --- Prologue: the first tiles on their way, the Q tile, an empty running softmax ------------------------
  for (int t = 0; t < SLOTS - 1; ++t) issue_tile(t);
  const float scale_log2 = scale * LOG2_E;  // exp(scale x) is 2^(scale_log2 x)
  // Of a huge row: a power of two at or above scale_log2, whose product with the maximum is exact.
  const float power = __uint_as_float((__float_as_uint(scale_log2) + 0x7FFFFF) & 0x7F800000);
  for (int i = 0; i < M; i += THREADS / (D / 8)) {
    const int r = i + threadIdx.x / (D / 8), c = threadIdx.x % (D / 8) * 8;
    copy8(swizzled(smem.Q, r, c), q + std::size_t(q0 + r) * D + c, q0 + r < S);
  }
  // The accumulator layout, m16n8: of a stripe's row quad_row + 8 h, columns 8 n + first_column and the next are
  // [n][2 h] and [n][2 h + 1].
  const int first_row = warp * ROWS, quad_row = lane / 4, first_column = lane % 4 * 2;
  const auto load_q = [&](unsigned(&a)[4], int i, int kk) {  // stripe i, columns 16 kk ..
    ptx::ldmatrix_x4(a, swizzled(smem.Q, first_row + i * STRIPE + lane % 16, 16 * kk + lane / 16 * 8));
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
    __pipeline_wait_prior(SLOTS - 2);  // tile t has arrived, as far as this thread can see
    __syncthreads();  // now all can see it; and all are done with tile t - 1, whose slot is next to be filled
    issue_tile(t + SLOTS - 1);
    auto &K = smem.K[t % SLOTS], &V = smem.V[t % SLOTS];

    // Scores: 16 keys and 16 columns at a time, for all stripes of the warp.
    float s[STRIPES][N / 8][4] = {};  // [16 rows][N keys] each
#pragma unroll
    for (int kk = 0; kk < D / 16; ++kk) {
      for (int i = 0; i < STRIPES && !KEEPS_Q; ++i) load_q(a_q[i][0], i, kk);
      for (int n = 0; n < N; n += 16) {
        unsigned b[2][2];
        ptx::ldmatrix_x4(b[0], b[1], swizzled(K, n + lane % 8 + lane / 16 * 8, 16 * kk + lane / 8 % 2 * 8));
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
        ptx::ldmatrix_x4_trans(b[0], b[1], swizzled(V, n + lane % 16, d + lane / 16 * 8));
        for (int i = 0; i < STRIPES; ++i)
          for (int j = 0; j < 2; ++j) ptx::mma_m16n8k16(o[i][d / 8 + j], p[i][n / 16], b[j]);
      }
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
