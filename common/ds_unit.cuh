// The unit in which a head's dS is rounded to halves: a power of two that divides dS before, and multiplies the sums of
// dQ and dK in fp32 after, both exactly. It is 1 unless dS may be beyond the largest half. dQ and dK can be finite there
// all the same, for the scale, K or Q may be small.
//
//   |dS_ij| = P_ij |dO_i·(v_j - o_i)| <= P_ij B,   B = (2 + 2^-10) max ‖dO_i‖ max ‖v_j‖
//
// as o_i is a mean of v's rows, rounded. So the kernel for the rows finds the largest ‖dO_i‖² and ‖v_j‖², a block those of
// its rows. What is not finite counts as 0: all dS of such a row or key are NaN or infinite in any unit, and the others'
// unit does not depend on it.
//
// In the main kernel the unit costs nothing where it is 1: P fmaf(dP, 1 / unit, -delta / unit) is as many instructions
// as P (dP - delta), and delta is divided in a branch that is not taken then.
#pragma once
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "common/tile.cuh"
#include "common/warp.cuh"

namespace lab {

// 8 halves from column c of row r of a [S][D] tensor on, or zeros if the row lies past it.
template <int D>
__device__ __forceinline__ uint4 row8(const half* from, int r, int c, int S) {
  return r < S ? *reinterpret_cast<const uint4*>(from + std::size_t(r) * D + c) : make_uint4(0, 0, 0, 0);
}

// Of 8 halves each.
__device__ __forceinline__ float dot8(uint4 x, uint4 y) {
  const unsigned a[] = {x.x, x.y, x.z, x.w}, b[] = {y.x, y.y, y.z, y.w};
  float sum = 0.0f;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float2 u = floats(a[i]), w = floats(b[i]);
    sum = fmaf(u.x, w.x, fmaf(u.y, w.y, sum));
  }
  return sum;
}

// In thread 0: the largest ‖dO_i‖² and ‖v_j‖² of a block's rows. LANES threads have a row's columns between them.
template <int THREADS, int LANES>
__device__ __forceinline__ float2 bound_of_block(float dout_squares, float v_squares) {
  __shared__ float2 bounds[THREADS / 32];
  const auto largest_of_warp = [](float x) {
    x = lanes_sum<LANES>(x);
    x = fmaxf(0.0f, fmaf(x, 0.0f, x));  // what is not finite is NaN when multiplied by 0, and fmaxf ignores a NaN
    for (int distance = LANES; distance < 32; distance *= 2) x = fmaxf(x, __shfl_xor_sync(FULL_WARP, x, distance));
    return x;
  };
  float2 largest = make_float2(largest_of_warp(dout_squares), largest_of_warp(v_squares));
  if (threadIdx.x % 32 == 0) bounds[threadIdx.x / 32] = largest;
  __syncthreads();
  if (threadIdx.x == 0)
#pragma unroll
    for (int i = 1; i < THREADS / 32; ++i)
      largest.x = fmaxf(largest.x, bounds[i].x), largest.y = fmaxf(largest.y, bounds[i].y);
  return largest;
}

// By a warp: the largest of a head's bounds, an even number of them.
__device__ __forceinline__ float2 largest_bound(const float2* bounds, int count) {
  constexpr int LOADS = 4;  // on their way at once
  float2 largest = make_float2(0.0f, 0.0f);
#pragma unroll 1
  for (int i = threadIdx.x % 32 * 2; i < count; i += LOADS * 64)
#pragma unroll
    for (int j = i; j < i + LOADS * 64; j += 64) {
      float4 two = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
      if (j < count) two = *reinterpret_cast<const float4*>(bounds + j);
      largest.x = fmaxf(largest.x, fmaxf(two.x, two.z)), largest.y = fmaxf(largest.y, fmaxf(two.y, two.w));
    }
  return make_float2(warp_max(largest.x), warp_max(largest.y));
}

// By a warp. dS / unit is below 2^15 P, and P, with its error, below 1.99.
__device__ __forceinline__ float ds_unit(float2 bound) {
  const float squared = 4.004f * bound.x * bound.y;                       // B², and 10^-5 for its rounding
  const int exponent = (int(__float_as_uint(squared) >> 23) - 127) >> 1;  // of B
  // One lane's for all, so in a uniform register.
  return __uint_as_float(__shfl_sync(FULL_WARP, (127u + max(exponent - 14, 0)) << 23, 0));
}

// 1 / unit, exactly.
__device__ __forceinline__ float inverse_unit(float unit) {
  return __uint_as_float((127u << 24) - __float_as_uint(unit));
}

}  // namespace lab
