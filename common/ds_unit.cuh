// The unit in which a key block rounds dS to halves: a power of two that divides dS before, and multiplies its sums in
// fp32 after, both exactly. It is 1 unless dS may be beyond the largest half. dQ and dK can be finite there all the
// same, for the scale, K or Q may be small.
//
//   |dS_ij| = P_ij |dO_i·v_j - delta_i| <= P_ij (‖dO_i‖ ‖v_j‖ + |delta_i|)
//
// The kernel for the rows stores ‖dO_i‖² beside delta_i. A block takes the largest of the rows that it walks, and the
// largest ‖v_j‖² of its keys. What is not finite counts as 0: all dS of such a row or key are NaN or infinite in any
// unit, and the others' unit does not depend on it.
#pragma once
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "common/half_pair.cuh"
#include "common/ptx/barrier.cuh"
#include "common/warp.cuh"

namespace lab {

inline constexpr int DS_SLAB = 64;  // halves whose squares a thread adds up at a time: 128 bytes

// The larger one. y counts as 0 if it is NaN or infinite: then y * 0 is NaN, and fmaxf ignores a NaN.
__device__ __forceinline__ float largest_finite(float x, float y) { return fmaxf(x, fmaf(y, 0.0f, y)); }

// The sum of the squares of 64 halves, chunk `first` of 16 bytes first: threads that begin with different ones read
// different banks. The order of the chunks, swizzled or not, does not matter.
__device__ __forceinline__ float sum_of_squares(const half* slab, int first) {
  float sum = 0.0f;
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const uint4 chunk = *reinterpret_cast<const uint4*>(slab + (first + i) % 8 * 8);
    for (const unsigned pair : {chunk.x, chunk.y, chunk.z, chunk.w}) {
      const float2 x = floats(pair);
      sum = fmaf(x.x, x.x, fmaf(x.y, x.y, sum));
    }
  }
  return sum;
}

// The largest ‖dO_i‖² and |delta_i| of the rows that a thread takes. terms: [tiles][3][M], delta_i second, ‖dO_i‖² third.
template <int M>
__device__ __forceinline__ float2 largest_terms(const float* terms, int tiles, int thread, int threads) {
  float2 largest = make_float2(0.0f, 0.0f);
#pragma unroll 4
  for (int row = thread * 4; row < tiles * M; row += threads * 4) {
    const float* const four = terms + row / M * 3 * M + row % M;
    const float4 delta = *reinterpret_cast<const float4*>(four + M);
    const float4 squares = *reinterpret_cast<const float4*>(four + 2 * M);
    for (const float x : {squares.x, squares.y, squares.z, squares.w}) largest.x = largest_finite(largest.x, x);
    for (const float x : {delta.x, delta.y, delta.z, delta.w}) largest.y = largest_finite(largest.y, fabsf(x));
  }
  return largest;
}

// A warp's part of the bound: the largest ‖dO_i‖², |delta_i| and ‖v_j‖² of its lanes.
__device__ __forceinline__ void store_bound(float4* to, float2 terms, float v_squares, int lane) {
  const float v = largest_finite(0.0f, v_squares);
  const float4 bound = make_float4(warp_max(terms.x), warp_max(terms.y), warp_max(v), 0.0f);
  if (lane == 0) *to = bound;
}

// The unit that follows from all warps' parts. dS / unit is below 2^15 P, and P, with its error, below 1.99.
template <int WARPS>
__device__ __forceinline__ float ds_unit(const float4* bounds) {
  float dout = 0.0f, delta = 0.0f, v = 0.0f;
#pragma unroll
  for (int i = 0; i < WARPS; ++i) {
    const float4 bound = bounds[i];
    dout = fmaxf(dout, bound.x), delta = fmaxf(delta, bound.y), v = fmaxf(v, bound.z);
  }
  constexpr unsigned EXPONENT = 0x7F800000u, ONE = 1u << 23, HALF_OF_2_15 = (127 + 14) * ONE;
  const unsigned bound = __float_as_uint(sqrtf(dout * v) + delta) & EXPONENT;
  return __uint_as_float(max(bound, HALF_OF_2_15) - 14 * ONE);
}

// The same by one warpgroup with Hopper's tile of 128 keys, a row of V for each thread; `barrier` is a named one of its
// own. Each thread stores the unit, for the others: a branch for one of them would cost the code after it the uniform
// registers.
template <int D, int M>
__device__ __forceinline__ void store_ds_unit(float* unit, float4* bounds, const half* sV, const float* terms,
                                              int tiles, int barrier) {
  constexpr int GROUP = 128;
  const int thread = threadIdx.x % GROUP, warp = thread / 32, lane = thread % 32;
  float v_squares = 0.0f;
  for (int d = 0; d < D / DS_SLAB; ++d) v_squares += sum_of_squares(sV + (d * GROUP + thread) * DS_SLAB, lane);
  store_bound(&bounds[warp], largest_terms<M>(terms, tiles, thread, GROUP), v_squares, lane);
  ptx::barrier_sync(barrier, GROUP);
  unit[thread] = ds_unit<GROUP / 32>(bounds);
}

// 1 / unit, exactly.
__device__ __forceinline__ float inverse_unit(float unit) {
  return __uint_as_float((127u << 24) - __float_as_uint(unit));
}

// A branch that is taken where the unit is not 1, and costs nothing else.
template <int N>
__device__ __forceinline__ void multiply_by_unit(float (&x)[N], float unit) {
  if (unit == 1.0f) return;
#pragma unroll
  for (int i = 0; i < N; ++i) x[i] *= unit;
}

}  // namespace lab
