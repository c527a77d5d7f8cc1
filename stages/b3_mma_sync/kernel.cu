// B3: v2d's tools for the five products of B2b. ldmatrix fills operands from tiles that are swizzled, not padded; copies
// run a tile ahead by cp.async; a warp has 32 keys where the grid is long, so that each B serves two products. dQ's sums
// lie in the order of the accumulators, so that a warp adds to 32 neighbours at once. A query tile takes two barriers.
//
//   P = exp(s - L)     dP = dO V^T     dS = P (dP - delta)     dQ = scale dS K     dK = scale dS^T Q     dV = P^T dO
//
// The forward pass has saved O and L. One kernel computes, for each row, delta = dO·O and L log2 e. The main kernel
// adds its parts of dQ to fp32 sums, which lie in the order of the accumulators. A last kernel rounds the sums to fp16.
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include <algorithm>

#include "common/attention_backward.hpp"
#include "common/backward/forward_pass.cuh"
#include "common/ds_unit.cuh"
#include "common/ptx/ex2.cuh"
#include "common/ptx/mma.cuh"
#include "common/tile.cuh"
#include "common/warp.cuh"

namespace {
using namespace lab;

// --- tile constants --------------------------------------------------------------------------------------
constexpr int STRIPE = 16;          // rows of a tensor core's tile
constexpr int M = 64;               // query rows per tile
constexpr int CHUNK = 32;           // query rows whose scores a warp has in registers at a time
constexpr int HEADS_TOGETHER = 16;  // whose blocks are started alternately
constexpr int ROW_THREADS = 256;    // of a block of the kernel for the rows
constexpr int BOUND_PITCH = 16;     // from a head's bound to the next: a line of its own, for the atomics

template <int D_, int STRIPES_>
struct Tile {
  static constexpr int D = D_, STRIPES = STRIPES_;
  static constexpr int WARPS = D / 16, THREADS = WARPS * 32;
  static constexpr int KEYS_PER_WARP = STRIPES * STRIPE, N = WARPS * KEYS_PER_WARP;  // N: keys per block
  static constexpr bool KEEPS_V = D == 128;  // in registers: shared memory has no room for it
  static constexpr int BLOCKS_PER_SM = D == 64 ? 2 : 1;
  static constexpr int DQ_ROWS = 32, DQ_COLS = 32;  // of dQ's tile, for each warp
  static_assert(WARPS == M / DQ_ROWS * (D / DQ_COLS), "the warps' parts of dQ make a whole tile");
};

// Where column c of row r lies in a swizzled array of rows of LD halves.
template <int LD>
__host__ __device__ constexpr int swizzled(int r, int c) {
  return r * LD + ((c / 8) ^ (r % 8)) * 8 + c % 8;
}
// The same element of an array that is declared so.
template <int ROWS, int LD>
__device__ __forceinline__ half* swizzled(half (&tile)[ROWS][LD], int r, int c) {
  return &tile[0][0] + swizzled<LD>(r, c);
}

// --- shared memory ---------------------------------------------------------------------------------------
template <class T>
struct Smem {
  half K[T::N][T::D];                   // takes dV, then dK, at the end
  half V[T::KEEPS_V ? 1 : T::N][T::D];  // one idle row where registers keep V
  half Q[2 * M][T::D];                  // two slots: one is for the next tile
  half dO[M][T::D];                     // free for the next tile before Q's, as the product with dQ does not read it
  half dS[T::N][M];                     // transposed, as the warps have it
  float2 rows[2 * M];                   // L log2 e and delta of each query row
};

// --- L log2 e and delta of each query row, and each head's bound of dS --------------------------------------
template <int D>
__global__ void __launch_bounds__(ROW_THREADS)
    row_terms(const half* __restrict__ out, const half* __restrict__ dout, const half* __restrict__ v,
              const float* __restrict__ L, float2* __restrict__ rows, unsigned* __restrict__ bounds, int S) {
  // out, dout, v: [heads, S, D]; rows: [heads, S]; bounds: [heads, 2 * BOUND_PITCH]
  constexpr int LANES = D / 8;  // of a row
  const std::size_t head = blockIdx.x, first = head * S * D;
  const int row = blockIdx.y * (ROW_THREADS / LANES) + threadIdx.x / LANES, c = threadIdx.x % LANES * 8;
  const uint4 o8 = row8<D>(out + first, row, c, S), dout8 = row8<D>(dout + first, row, c, S),
              v8 = row8<D>(v + first, row, c, S);
  const float log_sum = row < S ? L[head * S + row] * LOG2_E : 0.0f;
  const float delta = lanes_sum<LANES>(dot8(o8, dout8));
  if (c == 0 && row < S) rows[head * S + row] = make_float2(log_sum, delta);
  const float2 bound = bound_of_block<ROW_THREADS, LANES>(dot8(dout8, dout8), dot8(v8, v8));
  if (threadIdx.x != 0) return;
  // Positive floats are ordered as their bits are.
  atomicMax(&bounds[head * 2 * BOUND_PITCH], __float_as_uint(bound.x));
  atomicMax(&bounds[head * 2 * BOUND_PITCH + 1], __float_as_uint(bound.y));
}

// --- tiles from global to shared memory, 16 bytes at a time ------------------------------------------------
// Queues the copies of rows n0 .. n0 + ROWS - 1 of `from` ([S][D]) by cp.async, for all THREADS threads of the block to
// call; the caller commits. PLACE(r, c) says where column c of row r of the tile lies in its array. Rows from `keys` on
// become zeros: a stale NaN would survive being multiplied by a zero weight. A whole tile needs no test per row: its
// addresses are one base and constants.
template <int ROWS, int D, int (*PLACE)(int r, int c), int THREADS>
__device__ __forceinline__ void copy_rows_async(half* to, const half* from, int n0, int keys) {
  constexpr int STEP = THREADS / (D / 8);  // rows that the block copies at a time
  static_assert(ROWS % STEP == 0 && PLACE(STEP + 1, 8) == PLACE(1, 8) + STEP * D,
                "whole passes, each placed as the first");
  const int r = threadIdx.x / (D / 8), c = threadIdx.x % (D / 8) * 8;
  to += PLACE(r, c);
  from += (n0 + r) * D + c;
  if (n0 + ROWS <= keys) {
#pragma unroll
    for (int i = 0; i < ROWS; i += STEP) __pipeline_memcpy_async(to + i * D, from + i * D, 16);
  } else {
#pragma unroll
    for (int i = 0; i < ROWS; i += STEP) {
      const bool inside = n0 + r + i < keys;
      __pipeline_memcpy_async(to + i * D, inside ? from + i * D : from - (n0 + r) * D, 16, inside ? 0 : 16);
    }
  }
}

// --- the two kinds of products with a chunk of query rows -------------------------------------------------
template <class T>
using Scores = float[T::STRIPES][CHUNK / 8][4];  // of the warp's keys with a chunk of queries: c of 8 queries each
template <class T>
using Weights = unsigned[T::STRIPES][CHUNK / 8][2];  // P^T or dS^T as halves; [..][h]: of key quad_row + 8 h
template <class T>
using Gradient = float[T::STRIPES][T::D / 8][4];  // of the warp's keys: c of 8 columns each

// S^T = K Q^T or dP^T = V dO^T. load_a(a, i, kk) has stripe i and columns 16 kk .. of K or V; `rows` is Q's or dO's chunk.
template <class T, class LoadA>
__device__ __forceinline__ void add_scores(Scores<T>& to, const LoadA& load_a, const half* rows, int lane) {
#pragma unroll
  for (int kk = 0; kk < T::D / 16; ++kk) {
    unsigned a[T::STRIPES][4];
    for (int i = 0; i < T::STRIPES; ++i) load_a(a[i], i, kk);
    for (int n = 0; n < CHUNK; n += 16) {
      unsigned b0[2], b1[2];
      ptx::ldmatrix_x4(b0, b1, &rows[swizzled<T::D>(n + lane % 8 + lane / 16 * 8, 16 * kk + lane / 8 % 2 * 8)]);
      for (int i = 0; i < T::STRIPES; ++i) {
        ptx::mma_m16n8k16(to[i][n / 8], a[i], b0);
        ptx::mma_m16n8k16(to[i][n / 8 + 1], a[i], b1);
      }
    }
  }
}

// dV += P^T dO or dK += dS^T Q. Two neighbouring tiles of weights are one A.
template <class T>
__device__ __forceinline__ void add_weighted(Gradient<T>& to, const Weights<T>& w, const half* rows, int lane) {
#pragma unroll
  for (int n = 0; n < CHUNK; n += 16)
#pragma unroll
    for (int d = 0; d < T::D; d += 16) {
      unsigned b0[2], b1[2];
      ptx::ldmatrix_x4_trans(b0, b1, &rows[swizzled<T::D>(n + lane % 16, d + lane / 16 * 8)]);
      for (int i = 0; i < T::STRIPES; ++i) {
        const unsigned a[4] = {w[i][n / 8][0], w[i][n / 8][1], w[i][n / 8 + 1][0], w[i][n / 8 + 1][1]};
        ptx::mma_m16n8k16(to[i][d / 8], a, b0);
        ptx::mma_m16n8k16(to[i][d / 8 + 1], a, b1);
      }
    }
}

// --- all gradients: a block for N keys, which walks the query tiles ---------------------------------------
template <int D, int STRIPES>
__global__ void __launch_bounds__(Tile<D, STRIPES>::THREADS, Tile<D, STRIPES>::BLOCKS_PER_SM)
    gradients(const half* __restrict__ q, const half* __restrict__ k, const half* __restrict__ v,
              const half* __restrict__ dout, const float2* __restrict__ rows, const float2* __restrict__ bounds,
              float* __restrict__ dq_sum, half* __restrict__ dk, half* __restrict__ dv, int heads, int S, float scale,
              bool causal) {  // heads: B * H; dq_sum: [heads, tiles, M * D], zeros before the first block
  using T = Tile<D, STRIPES>;
  constexpr int N = T::N, THREADS = T::THREADS, CHUNK_TILES = CHUNK / 8;
  extern __shared__ __align__(128) unsigned char shared[];
  Smem<T>& smem = *reinterpret_cast<Smem<T>*>(shared);

  const int lane = threadIdx.x % 32;
  const int warp = __shfl_sync(FULL_WARP, threadIdx.x / 32, 0);  // one for the warp, so in a uniform register
  const int quad_row = lane / 4, first_column = lane % 4 * 2;    // the lane's, in each 8x8 of an accumulator
  // The first keys of several heads come first: under a causal mask their blocks have the most to do.
  const int head = blockIdx.z * gridDim.x + blockIdx.x;
  if (head >= heads) return;
  const int k0 = blockIdx.y * N;                                       // first key of this block
  const int warp_key = warp * T::KEYS_PER_WARP;                        // and of this warp, within the block's
  const int tiles = ceil_div(S, M), first_tile = causal ? k0 / M : 0;  // no earlier row sees a key of this block
  const std::size_t first_row = std::size_t(head) * S, first = first_row * D;
  q += first, k += first, v += first, dout += first, rows += first_row, dk += first, dv += first;
  dq_sum += std::size_t(head) * tiles * M * D;
  const float scale_log2 = scale * LOG2_E;  // exp(scale s - L) is 2^(scale_log2 s - L log2 e)

  // Queue the copies of a tile, as one group. Rows past the end become zeros.
  const auto issue_q = [&](int t) {
    if (t < tiles) {
      copy_rows_async<M, D, swizzled<D>, THREADS>(&smem.Q[t % 2 * M][0], q, t * M, S);
      if (const int r = threadIdx.x; r < M) {
        const bool inside = t * M + r < S;
        __pipeline_memcpy_async(&smem.rows[t % 2 * M + r], inside ? rows + t * M + r : rows, 8, inside ? 0 : 8);
      }
    }
    __pipeline_commit();
  };
  const auto issue_dout = [&](int t) {
    if (t < tiles) copy_rows_async<M, D, swizzled<D>, THREADS>(&smem.dO[0][0], dout, t * M, S);
    __pipeline_commit();
  };

  // --- Prologue: K, V and the first tiles on their way ------------------------------------------------------
  copy_rows_async<N, D, swizzled<D>, THREADS>(&smem.K[0][0], k, k0, S);
  if constexpr (!T::KEEPS_V) copy_rows_async<N, D, swizzled<D>, THREADS>(&smem.V[0][0], v, k0, S);
  issue_q(first_tile);
  issue_dout(first_tile);
  const float unit = ds_unit(bounds[head * BOUND_PITCH]), inverse = inverse_unit(unit);
  unsigned kept_v[STRIPES][D / 16][4];  // V as A, if it is kept
  if constexpr (T::KEEPS_V)
#pragma unroll
    for (int i = 0; i < STRIPES; ++i)
      for (int kk = 0; kk < D / 16; ++kk)
        for (int e = 0; e < 4; ++e) {
          const int key = k0 + warp_key + i * STRIPE + quad_row + e % 2 * 8;
          kept_v[i][kk][e] = key < S ? half_pair_at(v + std::size_t(key) * D + 16 * kk + first_column + e / 2 * 8) : 0;
        }
  const auto load_k = [&](unsigned(&a)[4], int i, int kk) {
    ptx::ldmatrix_x4(a, swizzled(smem.K, warp_key + i * STRIPE + lane % 16, 16 * kk + lane / 16 * 8));
  };
  const auto load_v = [&](unsigned(&a)[4], int i, int kk) {
    if constexpr (T::KEEPS_V)
      for (int e = 0; e < 4; ++e) a[e] = kept_v[i][kk][e];
    else
      ptx::ldmatrix_x4(a, swizzled(smem.V, warp_key + i * STRIPE + lane % 16, 16 * kk + lane / 16 * 8));
  };
  Gradient<T> dK = {}, dV = {};

  // --- Mainloop: one query tile at a time -------------------------------------------------------------------
  for (int t = first_tile; t < tiles; ++t) {
    __pipeline_wait_prior(0);  // tile t has arrived, as far as this thread can see
    __syncthreads();           // now all can see it; and all are done with tile t - 1, its slot of Q and its dS
    issue_q(t + 1);
    if (unit != 1.0f) {  // then delta is divided by it, once for all warps
      if (threadIdx.x < M) smem.rows[t % 2 * M + threadIdx.x].y *= inverse;
      __syncthreads();
    }

#pragma unroll 1
    for (int m = 0; m < M; m += CHUNK) {
      const half *const Q = &smem.Q[0][0] + (t % 2 * M + m) * D, *const dO = &smem.dO[0][0] + m * D;
      const float2* const rows_of_lane = &smem.rows[t % 2 * M + m + first_column];
      const int q0 = t * M + m, key0 = k0 + warp_key;  // the chunk's first query and key

      // P^T = exp(S^T - L). Only a tile on the diagonal or at an end has anything to hide.
      Scores<T> s = {};
      add_scores<T>(s, load_k, Q, lane);
#pragma unroll
      for (int n = 0; n < CHUNK_TILES; ++n) {
        const float base[2] = {rows_of_lane[8 * n].x, rows_of_lane[8 * n + 1].x};  // L log2 e of the lane's two queries
        for (int i = 0; i < STRIPES; ++i)
          for (int e = 0; e < 4; ++e) s[i][n][e] = fmaf(s[i][n][e], scale_log2, -base[e % 2]);
      }
      if (q0 + CHUNK > S || key0 + T::KEYS_PER_WARP > S || (causal && q0 < key0 + T::KEYS_PER_WARP - 1)) {
#pragma unroll
        for (int n = 0; n < CHUNK_TILES; ++n)
          for (int e = 0; e < 4; ++e) {
            const int row = q0 + 8 * n + first_column + e % 2;
            const int last_key = row >= S ? -1 : causal ? row : S - 1;  // that the row sees
            for (int i = 0; i < STRIPES; ++i)
              if (key0 + i * STRIPE + quad_row + e / 2 * 8 > last_key) s[i][n][e] = -INFINITY;
          }
      }
      Weights<T> p, ds;
#pragma unroll
      for (int n = 0; n < CHUNK_TILES; ++n)
        for (int i = 0; i < STRIPES; ++i) {
          for (int e = 0; e < 4; ++e) s[i][n][e] = ptx::ex2(s[i][n][e]);
          for (int h = 0; h < 2; ++h) p[i][n][h] = half_pair(s[i][n][2 * h], s[i][n][2 * h + 1]);
        }
      add_weighted<T>(dV, p, dO, lane);

      // dS^T = P^T (dP^T - delta) / unit, in registers for dK and in shared memory for dQ.
      Scores<T> dP = {};
      add_scores<T>(dP, load_v, dO, lane);
#pragma unroll
      for (int n = 0; n < CHUNK_TILES; ++n) {
        const float delta[2] = {rows_of_lane[8 * n].y, rows_of_lane[8 * n + 1].y};
        for (int i = 0; i < STRIPES; ++i)
          for (int h = 0; h < 2; ++h) {
            ds[i][n][h] = half_pair(s[i][n][2 * h] * fmaf(dP[i][n][2 * h], inverse, -delta[0]),
                                    s[i][n][2 * h + 1] * fmaf(dP[i][n][2 * h + 1], inverse, -delta[1]));
            const int key = warp_key + i * STRIPE + quad_row + 8 * h;
            *reinterpret_cast<unsigned*>(swizzled(smem.dS, key, m + 8 * n + first_column)) = ds[i][n][h];
          }
      }
      add_weighted<T>(dK, ds, Q, lane);
    }
    __syncthreads();  // the dS of all warps is there; and all are done with dO
    issue_dout(t + 1);

    // dQ of the tile, from this block's keys: 32 rows and 32 columns for each warp, 16 keys at a time.
    const int row = warp % 2 * T::DQ_ROWS, col = warp / 2 * T::DQ_COLS;
    float dQ[T::DQ_ROWS / STRIPE][T::DQ_COLS / 8][4] = {};
#pragma unroll
    for (int n = 0; n < N; n += 16) {
      unsigned a[T::DQ_ROWS / STRIPE][4];
      for (int i = 0; i < T::DQ_ROWS / STRIPE; ++i)
        ptx::ldmatrix_x4_trans(a[i],
                               swizzled(smem.dS, n + lane / 16 * 8 + lane % 8, row + i * STRIPE + lane / 8 % 2 * 8));
      for (int d = 0; d < T::DQ_COLS; d += 16) {
        unsigned b0[2], b1[2];
        ptx::ldmatrix_x4_trans(b0, b1, swizzled(smem.K, n + lane % 16, col + d + lane / 16 * 8));
        for (int i = 0; i < T::DQ_ROWS / STRIPE; ++i) {
          ptx::mma_m16n8k16(dQ[i][d / 8], a[i], b0);
          ptx::mma_m16n8k16(dQ[i][d / 8 + 1], a[i], b1);
        }
      }
    }
    // Accumulator by accumulator, so that a warp adds to 32 neighbours at once; round_sums puts them in place.
    float* sums = dq_sum + std::size_t(t) * M * D + warp * (T::DQ_ROWS * T::DQ_COLS) + lane;
#pragma unroll
    for (int i = 0; i < T::DQ_ROWS / STRIPE; ++i)
      for (int d = 0; d < T::DQ_COLS / 8; ++d)
        for (int e = 0; e < 4; ++e) atomicAdd(sums + ((i * (T::DQ_COLS / 8) + d) * 4 + e) * 32, dQ[i][d][e]);
  }

  // --- Epilogue: scale dK, round to fp16, store -------------------------------------------------------------
  __syncthreads();  // all warps are done with K: each one's rows of dV, then of dK, take the place of its own
  const auto store = [&](half* to, const Gradient<T>& from, float factor) {
    for (int i = 0; i < STRIPES; ++i)
      for (int h = 0; h < 2; ++h)
        for (int d = 0; d < D / 8; ++d)
          store2(swizzled(smem.K, warp_key + i * STRIPE + quad_row + 8 * h, 8 * d + first_column),
                 from[i][d][2 * h] * factor, from[i][d][2 * h + 1] * factor);
    __syncwarp();
#pragma unroll
    for (int i = lane; i < T::KEYS_PER_WARP * (D / 8); i += 32) {
      const int n = warp_key + i / (D / 8), c = i % (D / 8) * 8;
      if (k0 + n < S) copy8(to + std::size_t(k0 + n) * D + c, swizzled(smem.K, n, c), true);
    }
    __syncwarp();
  };
  store(dv, dV, 1.0f);
  store(dk, dK, scale * unit);
}

// --- dQ: the sums, scaled, rounded, and in place -----------------------------------------------------------
template <int D, int STRIPES>
__global__ void __launch_bounds__(Tile<D, STRIPES>::THREADS)
    round_sums(const float* __restrict__ dq_sum, const float2* __restrict__ bounds, half* __restrict__ dq, int H, int S,
               float scale) {
  using T = Tile<D, STRIPES>;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const std::size_t head = std::size_t(blockIdx.z) * H + blockIdx.y;
  const float* sums = dq_sum + (head * gridDim.x + blockIdx.x) * M * D + warp * (T::DQ_ROWS * T::DQ_COLS) + lane;
  dq += head * S * D;
  scale *= ds_unit(bounds[head * BOUND_PITCH]);
  const int row0 = blockIdx.x * M + warp % 2 * T::DQ_ROWS + lane / 4, col0 = warp / 2 * T::DQ_COLS + lane % 4 * 2;
#pragma unroll
  for (int i = 0; i < T::DQ_ROWS / STRIPE; ++i)
    for (int d = 0; d < T::DQ_COLS / 8; ++d)
      for (int h = 0; h < 2; ++h) {
        const float* pair = sums + ((i * (T::DQ_COLS / 8) + d) * 4 + 2 * h) * 32;
        const int row = row0 + i * STRIPE + 8 * h;
        if (row < S) store2(dq + std::size_t(row) * D + col0 + 8 * d, pair[0] * scale, pair[32] * scale);
      }
}

// --- workspace -------------------------------------------------------------------------------------------
struct Workspace {
  half* out;       // [B, H, S, D], which the forward pass has saved
  float* L;        // [B, H, S], it too
  float2* rows;    // [B, H, S]
  float* dq_sum;   // [B, H, tiles, M * D]; it and what is behind it begins with zeros
  float2* bounds;  // [B, H, BOUND_PITCH]
  std::size_t end;
};

Workspace parts_of(const void* workspace, const Shape& s) {
  Parts parts(workspace);
  const std::size_t heads = std::size_t(s.B) * s.H;
  return {parts.take<half>(s.elements()),
          parts.take<float>(s.rows()),
          parts.take<float2>(s.rows()),
          parts.take<float>(heads * ceil_div(s.S, M) * M * s.D),
          parts.take<float2>(heads * BOUND_PITCH),
          parts.end()};
}

// --- launcher --------------------------------------------------------------------------------------------
template <int D, int STRIPES>
cudaError_t launch(const BackwardArgs& a) {
  using T = Tile<D, STRIPES>;
  constexpr int BYTES = sizeof(Smem<T>);
  static_assert(BYTES <= 99 * 1024, "what sm_89 gives a block");
  const auto [B, H, S, _, causal] = a.shape;
  const int heads = B * H, together = std::min(heads, HEADS_TOGETHER);
  const Workspace w = parts_of(a.workspace, a.shape);
  const std::size_t zeros = w.end - reinterpret_cast<std::uintptr_t>(w.dq_sum);
  if (const cudaError_t error = cudaMemsetAsync(w.dq_sum, 0, zeros, a.stream)) return error;
  if (const cudaError_t error =
          cudaFuncSetAttribute(gradients<D, STRIPES>, cudaFuncAttributeMaxDynamicSharedMemorySize, BYTES))
    return error;
  row_terms<D><<<dim3(heads, ceil_div(S, ROW_THREADS / (D / 8))), ROW_THREADS, 0, a.stream>>>(
      w.out, a.dout, a.v, w.L, w.rows, reinterpret_cast<unsigned*>(w.bounds), S);
  gradients<D, STRIPES><<<dim3(together, ceil_div(S, T::N), ceil_div(heads, together)), T::THREADS, BYTES, a.stream>>>(
      a.q, a.k, a.v, a.dout, w.rows, w.bounds, w.dq_sum, a.dk, a.dv, heads, S, a.scale, causal);
  round_sums<D, STRIPES>
      <<<dim3(ceil_div(S, M), H, B), T::THREADS, 0, a.stream>>>(w.dq_sum, w.bounds, a.dq, H, S, a.scale);
  return cudaGetLastError();
}

// How many rows a warp should take: 32 halve the loads per product, 16 make twice the blocks. Whether blocks with 32 are more
// than an H200's 132 SMs; twice that under a causal mask, where many finish early.
bool fills_a_gpu(const Shape& shape, int warps) {
  const double blocks = double(ceil_div(shape.S, 32 * warps)) * shape.H * shape.B;
  return blocks > (shape.causal ? 264 : 132);
}

}  // namespace

cudaError_t attention_backward_gradients(const half* q, const half* k, const half* v, const half* dout, half* dq,
                                         half* dk, half* dv, int B, int H, int S, int D, float scale, int causal,
                                         void* workspace, cudaStream_t stream) {
  const lab::BackwardArgs args{
      q, k, v, dout, dq, dk, dv, static_cast<float*>(workspace), {B, H, S, D, causal != 0}, scale, stream};
  if (const cudaError_t error = check(args)) return error;
  if (D == 128) return launch<128, 1>(args);
  return fills_a_gpu(args.shape, 4) ? launch<64, 2>(args) : launch<64, 1>(args);  // short grids: half the keys
}

cudaError_t attention_backward(const half* q, const half* k, const half* v, const half* dout, half* dq, half* dk,
                               half* dv, int B, int H, int S, int D, float scale, int causal, void* workspace,
                               cudaStream_t stream) {
  const Workspace w = parts_of(workspace, {B, H, S, D, causal != 0});
  if (const cudaError_t error = lab::save_forward({q, k, v, w.out, {B, H, S, D, causal != 0}, scale, stream}, w.L))
    return error;
  return attention_backward_gradients(q, k, v, dout, dq, dk, dv, B, H, S, D, scale, causal, workspace, stream);
}

std::size_t attention_backward_workspace(int B, int H, int S, int D, int causal) {
  return parts_of(nullptr, {B, H, S, D, causal != 0}).end;
}
