// V2c8: mma.sync in place of WMMA. Its register layout is documented, so nothing passes through shared memory any more:
// scores, weights, O and the running softmax stay in registers, and the accumulator of Q K, packed to halves, is the A
// operand of P V. Four neighbouring lanes (a quad) hold a row, so a row's maximum takes two exchanges.
//
//   for each K/V tile:  m' = max(m, rowmax(s));  a = exp(m - m');  l = l a + sum(p);  O = O a + p V;  finally O / l
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include "common/attention_launch.cuh"
#include "common/half_pair.cuh"
#include "common/ptx/mma.cuh"
#include "common/smem_plan.cuh"
#include "common/tile.cuh"
#include "common/warp.cuh"

namespace {
using namespace lab;

// --- tile constants --------------------------------------------------------------------------------------
constexpr int WARPS = 4;
constexpr int THREADS = WARPS * 32;
constexpr int STRIPE = 16;  // rows of an m16n8k16 tile

template <int D_>
struct Tile {
  static constexpr int D = D_, SLOTS = 1;
  static constexpr int M = WARPS * STRIPE;  // query rows per block
  static constexpr int N = 64;              // keys per tile
  static constexpr int ROWS_PER_WARP = STRIPE;
  static constexpr int LD = D + 8;  // padded pitch: eight neighbouring rows start in eight different groups of banks
  static_assert(LD % 8 == 0, "a 16-byte cp.async needs rows that start on 16 bytes");
};

// --- shared-memory plan ----------------------------------------------------------------------------------
struct Smem {
  half *sK, *sV;  // [N][LD]
};

template <class T, class Cursor>
__host__ __device__ Smem carve(Cursor& cursor) {
  Smem smem;
  smem.sK = cursor.template array<half>("sK", T::N, T::LD);
  smem.sV = cursor.template array<half>("sV", T::N, T::LD);
  return smem;
}

// Queues the copy of rows n0 .. n0 + N - 1 of K or V, as one group. Rows from `keys` on, which no query of this block
// sees, become zeros; of a tile past them nothing is copied.
template <class T>
__device__ void issue_tile(half* to, const half* from, int n0, int keys) {
  const int first = threadIdx.x / (T::D / 8), c = threadIdx.x % (T::D / 8) * 8;
  if (n0 < keys)
#pragma unroll
    for (int n = first; n < T::N; n += THREADS / (T::D / 8)) {
      const bool inside = n0 + n < keys;
      __pipeline_memcpy_async(&to[n * T::LD + c], inside ? from + (n0 + n) * T::D + c : from, 16, inside ? 0 : 16);
    }
  __pipeline_commit();  // also when empty: the waits below count groups
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

template <int D>
__global__ void __launch_bounds__(THREADS)
    attention(const half* __restrict__ q, const half* __restrict__ k, const half* __restrict__ v,
              half* __restrict__ out, int H, int S, float scale, bool causal) {  // q, k, v, out: [B, H, S, D]
  using T = Tile<D>;
  constexpr int M = T::M, N = T::N, LD = T::LD;
  SmemCursor cursor;
  const Smem smem = carve<T>(cursor);

  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int g = lane / 4, c = lane % 4 * 2;  // the lane's row and first column in an 8x8 of the accumulator
  const int q0 = blockIdx.x * M;             // first query row of this block
  const std::size_t head = (std::size_t(blockIdx.z) * H + blockIdx.y) * S * D;
  q += head, k += head, v += head, out += head;
  const int keys = causal ? min(S, q0 + M) : S;  // no row of this block sees a later key
  const int tiles = ceil_div(keys, N);

  // --- Prologue: the first tiles on their way, Q in fragments, an empty running softmax --------------------
  issue_tile<T>(smem.sK, k, 0, keys);
  issue_tile<T>(smem.sV, v, 0, keys);
  const int rows[2] = {q0 + warp * STRIPE + g, q0 + warp * STRIPE + g + 8};  // the lane's rows of every accumulator
  unsigned a_q[D / 16][4];
#pragma unroll
  for (int kk = 0; kk < D / 16; ++kk)
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int row = rows[i % 2];
      a_q[kk][i] = row < S ? half_pair_at(q + std::size_t(row) * D + 16 * kk + i / 2 * 8 + c) : 0;
    }
  float o[D / 8][4] = {};  // O of 8 columns each: o[d][0..1] in rows[0], o[d][2..3] in rows[1]
  float row_max[2] = {-INFINITY, -INFINITY}, row_sum[2] = {};  // row_sum: the lane's own columns only

  // --- Mainloop: one K/V tile at a time --------------------------------------------------------------------
  for (int t = 0; t < tiles; ++t) {
    __pipeline_wait_prior(1);  // all but the last group: K(t) has arrived, as far as this thread can see
    __syncthreads();           // now all can see it

    // Scores. K is stored [key][d], so the two halves of a B register are neighbours: one 32-bit load.
    float s[N / 8][4] = {};
#pragma unroll
    for (int n = 0; n < N / 8; ++n)
#pragma unroll
      for (int kk = 0; kk < D / 16; ++kk) {
        const half* column = &smem.sK[(8 * n + g) * LD + 16 * kk + c];
        const unsigned b[2] = {half_pair_at(column), half_pair_at(column + 8)};
        ptx::mma_m16n8k16(s[n], a_q[kk], b);
      }
    __syncthreads();  // all are done with K(t), whose slot may be filled
    issue_tile<T>(smem.sK, k, (t + 1) * N, keys);

    // Online softmax: the row's new maximum, and what it does to everything summed so far.
    unsigned p[N / 8][2];  // weights as halves: p[n][i] in rows[i]
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      float tile_max = -INFINITY;
#pragma unroll
      for (int n = 0; n < N / 8; ++n)
#pragma unroll
        for (int j = 0; j < 2; ++j) {
          const int key = t * N + 8 * n + c + j;
          const bool visible = key < S && (!causal || key <= rows[i]);
          s[n][2 * i + j] = visible ? s[n][2 * i + j] * scale : -INFINITY;
          tile_max = fmaxf(tile_max, s[n][2 * i + j]);
        }
      const float new_max = fmaxf(row_max[i], quad_max(tile_max));
      const float base = new_max == -INFINITY ? 0.0f : new_max;  // a row that has seen no finite score stays empty
      const float rescale = __expf(row_max[i] - base);
      row_max[i] = new_max;
      row_sum[i] *= rescale;
#pragma unroll
      for (int n = 0; n < N / 8; ++n) {
        const float p0 = __expf(s[n][2 * i] - base), p1 = __expf(s[n][2 * i + 1] - base);
        row_sum[i] += p0 + p1;
        p[n][i] = half_pair(p0, p1);
      }
#pragma unroll
      for (int d = 0; d < D / 8; ++d) o[d][2 * i] *= rescale, o[d][2 * i + 1] *= rescale;
    }
    __pipeline_wait_prior(1);  // V(t) has arrived, as far as this thread can see
    __syncthreads();           // now all can see it

    // P V. Two neighbouring score tiles are one A. V is stored [key][d]: the halves of a B register lie a row apart.
#pragma unroll
    for (int n = 0; n < N / 16; ++n) {
      const unsigned a[4] = {p[2 * n][0], p[2 * n][1], p[2 * n + 1][0], p[2 * n + 1][1]};
#pragma unroll
      for (int d = 0; d < D / 8; ++d) {
        const half* column = &smem.sV[(16 * n + c) * LD + 8 * d + g];
        const unsigned b[2] = {half_pair(column[0], column[LD]), half_pair(column[8 * LD], column[9 * LD])};
        ptx::mma_m16n8k16(o[d], a, b);
      }
    }
    __syncthreads();  // all are done with V(t)
    issue_tile<T>(smem.sV, v, (t + 1) * N, keys);
  }

  // --- Epilogue: add up the quad's sums, normalise, round to fp16, store -----------------------------------
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const float norm = 1.0f / quad_sum(row_sum[i]);
    if (rows[i] >= S) continue;
#pragma unroll
    for (int d = 0; d < D / 8; ++d)
      store2(out + std::size_t(rows[i]) * D + 8 * d + c, o[d][2 * i] * norm, o[d][2 * i + 1] * norm);
  }
}

// --- launcher --------------------------------------------------------------------------------------------
template <class T>
struct Launcher {
  static bool takes(const Shape& shape) { return shape.D == T::D; }
  static LaunchPlan plan(const Shape& shape) {
    SmemCount smem;
    carve<T>(smem);
    LaunchPlan plan = tile_plan<T>(shape, THREADS, smem);
    plan.half_p = true;
    return plan;
  }
  static cudaError_t launch(const AttentionArgs& args, const LaunchPlan& plan) {
    const auto kernel = named_kernel<T::D>(attention<T::D>);
    if (const cudaError_t error = opt_in_smem(kernel, plan); error != cudaSuccess) return error;
    return launch_attention(kernel, plan, args);
  }
};

}  // namespace

const lab::StageInfo& lab::stage() { return stage_of<Launcher<Tile<64>>, Launcher<Tile<128>>>(); }
