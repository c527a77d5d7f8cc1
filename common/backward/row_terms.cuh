// Of each query row L log2 e and delta = dO·O; of blocks of rows the bounds of dS (common/ds_unit.cuh); and zeros for the
// sums of dQ: what b4 and the stages after it compute before the gradients. b3 writes its own out.
#pragma once
#include "common/ds_unit.cuh"
#include "common/tile.cuh"

namespace lab {

inline constexpr int ROW_THREADS = 256;  // of a block
template <int M, int D>
inline constexpr int ROW_BLOCKS = M* D / 8 / ROW_THREADS;  // to a tile of M query rows

// By a grid of (heads, ROW_BLOCKS of all tiles) blocks. out, dout, v: [heads, S, D]; terms: [heads, tiles, 2, M]: L log2 e,
// then delta; bounds: [heads, tiles, ROW_BLOCKS]; dq_sum: [heads, tiles, M * D].
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
  for (int i = 0; i < 2; ++i) sums[(block * 2 + i) * ROW_THREADS + threadIdx.x] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
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

}  // namespace lab
