// The kernels before and behind the gradients of b4 and the stages after it; b3 writes its own out.
#pragma once
#include "common/ds_unit.cuh"
#include "common/tile.cuh"

namespace lab {

// --- before: of each query row L log2 e and delta = dO·O; of blocks of rows the bounds of dS (common/ds_unit.cuh); and zeros
// for the sums of dQ ----------------------------------------------------------------------------------------------------

inline constexpr int ROW_THREADS = 256;  // of a block
template <int M, int D>
inline constexpr int ROW_BLOCKS = M* D / 8 / ROW_THREADS;  // to a tile of M query rows

// By a grid of (heads, ROW_BLOCKS of all tiles) blocks. out, dout, v: [heads, S, D]; terms: [heads, tiles, 2, M]: L log2 e,
// then delta; bounds: [heads, tiles, ROW_BLOCKS]; dq_sum: [heads, tiles, M * D], or null where nothing is added to zeros.
template <int M, int D>
__device__ __forceinline__ void find_row_terms(const half* out, const half* dout, const half* v, const float* L,
                                               float* terms, float2* bounds, float* dq_sum, int S) {
  constexpr int LANES = D / 8, ROWS = ROW_THREADS / LANES;  // LANES: of a row
  const std::size_t head = blockIdx.x, block = head * gridDim.y + blockIdx.y;
  const int row = blockIdx.y * ROWS + threadIdx.x / LANES, c = threadIdx.x % LANES * 8;
  const std::size_t first = head * S * D, padded_row = block * ROWS + threadIdx.x / LANES;  // of all heads' tiles
  const uint4 o8 = row8<D>(out + first, row, c, S), dout8 = row8<D>(dout + first, row, c, S),
              v8 = row8<D>(v + first, row, c, S);
  const float log_sum = row < S ? L[head * S + row] * LOG2_E : 0.0f;
  float4* const sums = reinterpret_cast<float4*>(dq_sum);
  for (int i = 0; dq_sum && i < 2; ++i)
    sums[(block * 2 + i) * ROW_THREADS + threadIdx.x] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  const float delta = lanes_sum<LANES>(dot8(o8, dout8));
  if (c == 0) {
    terms += padded_row / M * 2 * M + row % M;
    terms[0] = log_sum, terms[M] = delta;
  }
  const float2 bound = bound_of_block<ROW_THREADS, LANES>(dot8(dout8, dout8), dot8(v8, v8));
  if (threadIdx.x == 0) bounds[block] = bound;
}

template <int M, int D>
__global__ void __launch_bounds__(ROW_THREADS)
    row_terms(const half* __restrict__ out, const half* __restrict__ dout, const half* __restrict__ v,
              const float* __restrict__ L, float* __restrict__ terms, float2* __restrict__ bounds,
              float* __restrict__ dq_sum, int S) {
  find_row_terms<M, D>(out, dout, v, L, terms, bounds, dq_sum, S);
}

// --- behind: gradients from sums, which lie as a warpgroup has them: a tile is two squares of 64 x 64,
// at D = 64 one below the other, at D = 128 side by side; a square is [8 columns after 8][thread][4 accumulators] --------

inline constexpr int DQ_ROWS = 64, DQ_COLS = 64, DQ_SIZE = DQ_ROWS * DQ_COLS;  // of a square, which a warpgroup makes
inline constexpr int DQ_SQUARES = 2;                                           // of a tile

// The sums of `count` blocks' parts of a square, `stride` floats apart: of each two vectors, `step` vectors apart.
__device__ __forceinline__ void add_parts(float4 (&sum)[2], const float* parts, int step, int count,
                                          std::size_t stride) {
#pragma unroll 4
  for (int part = 0; part < count; ++part, parts += stride)
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const float4 x = reinterpret_cast<const float4*>(parts)[i * step];
      sum[i].x += x.x, sum[i].y += x.y, sum[i].z += x.z, sum[i].w += x.w;
    }
}

// By the 128 threads of a warpgroup: its accumulators, as it holds them.
template <int EIGHTS>
__device__ __forceinline__ void store_part(float* part, const float (&d)[EIGHTS][4]) {
#pragma unroll
  for (int n = 0; n < EIGHTS; ++n)
    *reinterpret_cast<float4*>(part + n * 4 * 128) = make_float4(d[n][0], d[n][1], d[n][2], d[n][3]);
}

// By 128 threads: 16 of a square's 64 columns, from the first-th 8 on, scaled, rounded, and in place in `to`, a head's [S][D];
// the square begins there at this row and column.
template <int D>
__device__ __forceinline__ void round_square(const float* parts, int count, std::size_t stride, int first, half* to,
                                             int row, int column, int S, float scale) {
  const int thread = threadIdx.x % 128;
  float4 sum[2] = {};
  add_parts(sum, parts + (first * 128 + thread) * 4, 128, count, stride);
  row += thread / 32 * 16 + thread % 32 / 4, column += first * 8 + thread % 4 * 2;
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    half* const here = to + std::size_t(row) * D + column + i * 8;
    if (row < S) store2(here, sum[i].x * scale, sum[i].y * scale);
    if (row + 8 < S) store2(here + 8 * D, sum[i].z * scale, sum[i].w * scale);
  }
}

// The same where the square is the transpose: 16 rows of `to`. A thread takes two neighbours of each row, which are in two
// rows of the square.
template <int D>
__device__ __forceinline__ void round_transposed(const float* parts, int count, std::size_t stride, int first, half* to,
                                                 int row, int column, int S, float scale) {
  const int thread = threadIdx.x % 128, warp = thread % 64 / 16, two = thread % 16 / 4 * 2;
  first += thread / 64;
  float4 sum[2] = {};
  add_parts(sum, parts + (first * 128 + warp * 32 + two * 4 + thread % 4) * 4, 4, count, stride);
  row += first * 8 + thread % 4 * 2, column += warp * 16 + two;
  half* const here = to + std::size_t(row) * D + column;
  if (row < S) store2(here, sum[0].x * scale, sum[1].x * scale), store2(here + 8, sum[0].z * scale, sum[1].z * scale);
  if (row + 1 < S)
    store2(here + D, sum[0].y * scale, sum[1].y * scale), store2(here + D + 8, sum[0].w * scale, sum[1].w * scale);
}

// By a warpgroup for each square of a tile: dQ, scaled, rounded, and in place, from the sums of b4, or from those of the
// transpose, of b5 and b6. dq_sum: [B, H, tiles, M * D]; units: [B, H].
template <int M, int D, bool TRANSPOSED = false>
__global__ void __launch_bounds__(DQ_SQUARES * 128)
    round_sums(const float* __restrict__ dq_sum, const float* __restrict__ units, half* __restrict__ dq, int H, int S,
               float scale) {
  const int square = threadIdx.x / 128;
  const std::size_t head = std::size_t(blockIdx.z) * H + blockIdx.y;
  const float* const sums = dq_sum + ((head * gridDim.x + blockIdx.x) * DQ_SQUARES + square) * DQ_SIZE;
  const int row = blockIdx.x * M + (D == 64 ? square * DQ_ROWS : 0), column = D == 64 ? 0 : square * DQ_COLS;
  constexpr auto round = TRANSPOSED ? round_transposed<D> : round_square<D>;
#pragma unroll
  for (int first = 0; first < DQ_COLS / 8; first += 2)
    round(sums, 1, 0, first, dq + head * S * D, row, column, S, scale * units[head]);
}

}  // namespace lab
