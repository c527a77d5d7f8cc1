// V2f: the longest blocks first. Under a causal mask the last query tile of a head sees every key and the first only
// its own, so a long block that starts last keeps the GPU waiting. Blocks start in the order of their index: so the
// last tiles come first, where blocks are few those of all heads, and the short ones fill in. (Where there are many,
// one head after the other finds its K and V in the L2.)
//
//   for each K/V tile:  p = 2^(s - r);  if sum(p) is too large: r' = max(r, rowmax(s)), l and O times 2^(r - r'), p
//   again;
//                       l = l + sum(p);  O = O + p V;  finally O / l
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include "common/attention_launch.cuh"
#include "common/block_order.cuh"
#include "common/half_pair.cuh"
#include "common/ptx/ex2.cuh"
#include "common/ptx/ldmatrix.cuh"
#include "common/ptx/mma.cuh"
#include "common/smem_plan.cuh"
#include "common/tile.cuh"
#include "common/warp.cuh"

namespace {
using namespace lab;

// --- tile constants --------------------------------------------------------------------------------------
constexpr int WARPS = 4;
constexpr int THREADS = WARPS * 32;
constexpr int STRIPE = 16;               // rows of an m16n8k16 tile
constexpr float LARGEST_SUM = 32768.0f;  // of a lane's weights of a tile: then each of them fits into a half

template <int D_, int ROWS>
struct Tile {
  static constexpr int D = D_, SLOTS = D == 64 ? 3 : 2;
  static constexpr int ROWS_PER_WARP = ROWS, STRIPES = ROWS / STRIPE;
  static constexpr int M = WARPS * ROWS;                    // query rows per block
  static constexpr int N = 64;                              // keys per tile
  static constexpr bool KEEPS_Q = D == 64 || STRIPES == 1;  // in registers; else its fragments are read per tile
  static constexpr bool over_all_heads(bool causal) { return causal && STRIPES == 1; }
  static constexpr int CHUNKS = D / 8;                // 16-byte chunks of a row
  static constexpr int COPY_ROWS = THREADS / CHUNKS;  // rows that the block copies at a time
  static_assert(N % COPY_ROWS == 0 && COPY_ROWS % 8 == 0, "whole passes, and every pass has the first one's swizzle");
};

// Where column c of row r lies in a swizzled [rows][D] array.
template <class T>
__device__ __forceinline__ int swizzled(int r, int c) {
  return r * T::D + ((c / 8) ^ (r % 8)) * 8 + c % 8;
}

// --- shared-memory plan ----------------------------------------------------------------------------------
struct Smem {
  half *sQ, *sK, *sV;  // [M][D], [SLOTS * N][D] twice, swizzled; sQ takes the output at the end
};

template <class T, class Cursor>
__host__ __device__ Smem carve(Cursor& cursor) {
  Smem smem;
  smem.sQ = cursor.template array<half>("sQ", T::M, T::D);
  smem.sK = cursor.template array<half>("sK", T::SLOTS * T::N, T::D);
  smem.sV = cursor.template array<half>("sV", T::SLOTS * T::N, T::D);
  return smem;
}

// Queues the copy of rows n0 .. n0 + N - 1 of K or V. Rows from `keys` on, which no query of this block sees, become
// zeros. A whole tile needs no test per row: its addresses are one base and constants.
template <class T>
__device__ __forceinline__ void issue_tile(half* slot, const half* from, int n0, int keys) {
  const int r = threadIdx.x / T::CHUNKS, c = threadIdx.x % T::CHUNKS * 8;
  half* to = slot + swizzled<T>(r, c);
  from += (n0 + r) * T::D + c;
  if (n0 + T::N <= keys) {
#pragma unroll
    for (int i = 0; i < T::N; i += T::COPY_ROWS) __pipeline_memcpy_async(to + i * T::D, from + i * T::D, 16);
  } else {
#pragma unroll
    for (int i = 0; i < T::N; i += T::COPY_ROWS) {
      const bool inside = n0 + r + i < keys;
      __pipeline_memcpy_async(to + i * T::D, inside ? from + i * T::D : from - (n0 + r) * T::D, 16, inside ? 0 : 16);
    }
  }
}

// A row of the accumulator lies in the four lanes of a quad.
__device__ __forceinline__ float quad_max(float x) {
  x = fmaxf(x, __shfl_xor_sync(FULL_WARP, x, 1));
  return fmaxf(x, __shfl_xor_sync(FULL_WARP, x, 2));
}
__device__ __forceinline__ float quad_sum(float x) {
  x += __shfl_xor_sync(FULL_WARP, x, 1);
  return x + __shfl_xor_sync(FULL_WARP, x, 2);
}

template <int D, int ROWS>
__global__ void __launch_bounds__(THREADS, 2)
    attention(const half* __restrict__ q, const half* __restrict__ k, const half* __restrict__ v,
              half* __restrict__ out, int H, int S, float scale, bool causal) {  // q, k, v, out: [B, H, S, D]
  using T = Tile<D, ROWS>;
  constexpr int M = T::M, N = T::N, SLOTS = T::SLOTS, STRIPES = T::STRIPES;
  SmemCursor cursor;
  const Smem smem = carve<T>(cursor);

  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int g = lane / 4, c = lane % 4 * 2;  // the lane's row and first column in an 8x8 of the accumulator
  const BlockWork work = block_work(H, T::over_all_heads(causal));
  const int q0 = work.tile * M;  // first query row of this block
  const std::size_t head = std::size_t(work.head) * S * D;
  q += head, k += head, v += head, out += head;
  const int keys = causal ? min(S, q0 + M) : S;  // no row of this block sees a later key
  const int tiles = ceil_div(keys, N);

  // --- Prologue: the first tiles on their way, the Q tile, an empty running softmax ------------------------
  for (int t = 0; t < SLOTS - 1; ++t) {
    if (t < tiles) {
      issue_tile<T>(smem.sK + t * N * D, k, t * N, keys);
      issue_tile<T>(smem.sV + t * N * D, v, t * N, keys);
    }
    __pipeline_commit();  // also when empty: the wait below counts groups
  }
  // exp(scale s - m) is 2^(unit s - reference), one multiply-add and one ex2. Q takes the sign of scale, so that unit
  // is positive and the largest product is the largest score. At scale 0 unit stays above 0: a hidden key's -inf must
  // not become a NaN.
  const unsigned sign = scale < 0 ? 0x80008000u : 0;
  const float unit = fmaxf(fabsf(scale) * 1.44269504f, 1.17549435e-38f);
#pragma unroll
  for (int i = 0; i < M; i += T::COPY_ROWS) {
    const int r = i + threadIdx.x / T::CHUNKS, col = threadIdx.x % T::CHUNKS * 8;
    uint4 x = make_uint4(0, 0, 0, 0);
    if (q0 + r < S) x = *reinterpret_cast<const uint4*>(q + std::size_t(q0 + r) * D + col);
    *reinterpret_cast<uint4*>(&smem.sQ[swizzled<T>(r, col)]) =
        make_uint4(x.x ^ sign, x.y ^ sign, x.z ^ sign, x.w ^ sign);
  }
  const int first_row = warp * ROWS;
  const auto load_q = [&](unsigned(&a)[4], int i, int kk) {  // stripe i, columns 16 kk ..
    ptx::ldmatrix_x4(a, &smem.sQ[swizzled<T>(first_row + i * STRIPE + lane % 16, 16 * kk + lane / 16 * 8)]);
  };
  unsigned a_q[STRIPES][T::KEEPS_Q ? D / 16 : 1][4];
  if constexpr (T::KEEPS_Q) {
    __syncthreads();
#pragma unroll
    for (int i = 0; i < STRIPES; ++i)
#pragma unroll
      for (int kk = 0; kk < D / 16; ++kk) load_q(a_q[i][kk], i, kk);
  }
  float o[STRIPES][D / 8][4] = {};  // O of 8 columns each: [..][0..1] in row g of the stripe, [..][2..3] in row g + 8
  float reference[STRIPES][2], row_sum[STRIPES][2];  // what p's exponents are relative to; the lane's own columns' sum
#pragma unroll
  for (int i = 0; i < STRIPES; ++i)
#pragma unroll
    for (int h = 0; h < 2; ++h) reference[i][h] = -INFINITY, row_sum[i][h] = 0.0f;

  // --- Mainloop: one K/V tile at a time --------------------------------------------------------------------
  for (int t = 0; t < tiles; ++t) {
    __pipeline_wait_prior(SLOTS - 2);  // tile t has arrived, as far as this thread can see
    __syncthreads();  // now all can see it; and all are done with tile t - 1, whose slot is next to be filled
    if (const int next = t + SLOTS - 1; next < tiles) {
      issue_tile<T>(smem.sK + next % SLOTS * N * D, k, next * N, keys);
      issue_tile<T>(smem.sV + next % SLOTS * N * D, v, next * N, keys);
    }
    __pipeline_commit();
    const half* sK = smem.sK + t % SLOTS * N * D;
    const half* sV = smem.sV + t % SLOTS * N * D;

    // Scores: 16 keys and 16 columns at a time, for all stripes of the warp.
    float s[STRIPES][N / 8][4];
    const auto score = [&] {
#pragma unroll
      for (int i = 0; i < STRIPES; ++i)
#pragma unroll
        for (int n = 0; n < N / 8; ++n)
#pragma unroll
          for (int e = 0; e < 4; ++e) s[i][n][e] = 0.0f;
#pragma unroll(T::KEEPS_Q ? D / 16 : 4)  // all eight would not leave enough registers
      for (int kk = 0; kk < D / 16; ++kk) {
        if constexpr (!T::KEEPS_Q)
#pragma unroll
          for (int i = 0; i < STRIPES; ++i) load_q(a_q[i][0], i, kk);
#pragma unroll
        for (int n = 0; n < N; n += 16) {
          unsigned b[4];
          ptx::ldmatrix_x4(b, &sK[swizzled<T>(n + lane % 8 + lane / 16 * 8, 16 * kk + lane / 8 % 2 * 8)]);
          const unsigned b0[2] = {b[0], b[1]}, b1[2] = {b[2], b[3]};
#pragma unroll
          for (int i = 0; i < STRIPES; ++i) {
            ptx::mma_m16n8k16(s[i][n / 8], a_q[i][T::KEEPS_Q ? kk : 0], b0);
            ptx::mma_m16n8k16(s[i][n / 8 + 1], a_q[i][T::KEEPS_Q ? kk : 0], b1);
          }
        }
      }
      // Only a tile on the diagonal or at the end of the keys has anything to hide.
      if ((t + 1) * N > S || (causal && (t + 1) * N > q0 + first_row + 1)) {
#pragma unroll
        for (int i = 0; i < STRIPES; ++i)
#pragma unroll
          for (int n = 0; n < N / 8; ++n)
#pragma unroll
            for (int e = 0; e < 4; ++e) {
              const int key = t * N + 8 * n + c + e % 2, row = q0 + first_row + i * STRIPE + g + e / 2 * 8;
              if (key >= S || (causal && key > row)) s[i][n][e] = -INFINITY;
            }
      }
    };

    // Weights relative to the reference; says whether all of the warp's fit into a half.
    unsigned p[STRIPES][N / 8][2];  // as halves
    float sum[STRIPES][2];
    const auto weigh = [&](const float(&base)[STRIPES][2]) {
      bool fits = true;
#pragma unroll
      for (int i = 0; i < STRIPES; ++i)
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          sum[i][h] = 0.0f;
#pragma unroll
          for (int n = 0; n < N / 8; ++n) {
            const float p0 = ptx::ex2(s[i][n][2 * h] * unit - base[i][h]);
            const float p1 = ptx::ex2(s[i][n][2 * h + 1] * unit - base[i][h]);
            sum[i][h] += p0 + p1;
            p[i][n][h] = half_pair(p0, p1);
          }
          fits = fits && sum[i][h] <= LARGEST_SUM;  // false for a NaN
        }
      return __all_sync(FULL_WARP, fits) != 0;
    };

    // A row that has seen nothing has the reference -inf, and nothing fits. The scores are gone by then, to save their
    // registers in every other tile: multiply once more.
    score();
    if (t == 0 || !weigh(reference)) {
      if (t > 0) score();
      float base[STRIPES][2];
#pragma unroll
      for (int i = 0; i < STRIPES; ++i)
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          float tile_max = fmaxf(s[i][0][2 * h], s[i][0][2 * h + 1]);
#pragma unroll
          for (int n = 1; n < N / 8; ++n) tile_max = fmaxf(tile_max, fmaxf(s[i][n][2 * h], s[i][n][2 * h + 1]));
          const float higher = fmaxf(reference[i][h], quad_max(tile_max) * unit);
          base[i][h] = higher == -INFINITY ? 0.0f : higher;  // a row that has still seen nothing stays empty
          const float rescale = ptx::ex2(reference[i][h] - base[i][h]);
          reference[i][h] = higher;
          row_sum[i][h] *= rescale;
#pragma unroll
          for (int d = 0; d < D / 8; ++d) o[i][d][2 * h] *= rescale, o[i][d][2 * h + 1] *= rescale;
        }
      weigh(base);
    }
#pragma unroll
    for (int i = 0; i < STRIPES; ++i) {
      row_sum[i][0] += sum[i][0], row_sum[i][1] += sum[i][1];
    }

    // P V: 16 keys and 16 columns at a time. Two neighbouring score tiles are one A.
#pragma unroll
    for (int n = 0; n < N; n += 16)
#pragma unroll
      for (int d = 0; d < D; d += 16) {
        unsigned b[4];
        ptx::ldmatrix_x4_trans(b, &sV[swizzled<T>(n + lane % 16, d + lane / 16 * 8)]);
        const unsigned b0[2] = {b[0], b[1]}, b1[2] = {b[2], b[3]};
#pragma unroll
        for (int i = 0; i < STRIPES; ++i) {
          const unsigned a[4] = {p[i][n / 8][0], p[i][n / 8][1], p[i][n / 8 + 1][0], p[i][n / 8 + 1][1]};
          ptx::mma_m16n8k16(o[i][d / 8], a, b0);
          ptx::mma_m16n8k16(o[i][d / 8 + 1], a, b1);
        }
      }
  }

  // --- Epilogue: normalise, round to fp16, store, 16 bytes per lane by way of the warp's own rows of sQ -----
#pragma unroll
  for (int i = 0; i < STRIPES; ++i)
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const float norm = 1.0f / quad_sum(row_sum[i][h]);
      const int r = first_row + i * STRIPE + g + 8 * h;
#pragma unroll
      for (int d = 0; d < D / 8; ++d)
        store2(&smem.sQ[swizzled<T>(r, 8 * d + c)], o[i][d][2 * h] * norm, o[i][d][2 * h + 1] * norm);
    }
  __syncwarp();
#pragma unroll
  for (int i = lane; i < ROWS * T::CHUNKS; i += 32) {
    const int r = first_row + i / T::CHUNKS, col = i % T::CHUNKS * 8;
    if (q0 + r < S)
      *reinterpret_cast<uint4*>(out + std::size_t(q0 + r) * D + col) =
          *reinterpret_cast<const uint4*>(&smem.sQ[swizzled<T>(r, col)]);
  }
}

// --- launcher --------------------------------------------------------------------------------------------
// 32 rows per warp halve the loads per product, 16 make twice the blocks: those where 32 would leave SMs idle, an
// H200's 132 or, under a causal mask, the many that finish early.
bool fills_a_gpu(const Shape& shape) {
  const double blocks = double(ceil_div(shape.S, 32 * WARPS)) * shape.H * shape.B;
  return blocks > (shape.causal ? 264 : 132);
}

template <class T>
struct Launcher {
  static bool takes(const Shape& shape) { return shape.D == T::D && fills_a_gpu(shape) == (T::STRIPES == 2); }
  static LaunchPlan plan(const Shape& shape) {
    SmemCount smem;
    carve<T>(smem);
    LaunchPlan plan = tile_plan<T>(shape, THREADS, smem);
    plan.half_p = true;
    plan.block_of = T::over_all_heads(shape.causal) ? block_over_all_heads : block_head_by_head;
    return plan;
  }
  static cudaError_t launch(const AttentionArgs& args, const LaunchPlan& plan) {
    const auto kernel = named_kernel<T::D, T::ROWS_PER_WARP>(attention<T::D, T::ROWS_PER_WARP>);
    if (const cudaError_t error = opt_in_smem(kernel, plan); error != cudaSuccess) return error;
    return launch_attention(kernel, plan, args);
  }
};

}  // namespace

const lab::StageInfo& lab::stage() {
  return stage_of<Launcher<Tile<64, 16>>, Launcher<Tile<64, 32>>, Launcher<Tile<128, 16>>, Launcher<Tile<128, 32>>>();
}
