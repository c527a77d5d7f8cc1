// Warp reductions: every lane gets the result. A butterfly, so that all lanes add in the same order and end with
// the same bits. On the CPU the five exchanges are one rendezvous with the same order of additions, unless
// ExecOptions::spelled_out asks for the exchanges themselves: the acceptance holds the two to each other.
#pragma once
#include <cuda_runtime.h>

namespace lab {

inline constexpr unsigned FULL_WARP = 0xFFFFFFFFu;

__device__ __forceinline__ float warp_sum(float value) {
#if !defined(__CUDACC__) || defined(LAB_EMULATED)
  if (!cpu::spelled_out()) return cpu::butterfly_sum(FULL_WARP, value);
#endif
  for (int distance = 16; distance > 0; distance /= 2) value += __shfl_xor_sync(FULL_WARP, value, distance);
  return value;
}

__device__ __forceinline__ float warp_max(float value) {
#if !defined(__CUDACC__) || defined(LAB_EMULATED)
  if (!cpu::spelled_out()) return cpu::butterfly_max(FULL_WARP, value);
#endif
  for (int distance = 16; distance > 0; distance /= 2)
    value = fmaxf(value, __shfl_xor_sync(FULL_WARP, value, distance));
  return value;
}

// Of the lane's group of LANES lanes.
template <int LANES>
__device__ __forceinline__ float lanes_sum(float x) {
  for (int distance = LANES / 2; distance > 0; distance /= 2) x += __shfl_xor_sync(FULL_WARP, x, distance);
  return x;
}

// The four lanes 4 i .. 4 i + 3, a quad: between them they hold a row of an mma accumulator.
__device__ __forceinline__ float quad_max(float x) {
  x = fmaxf(x, __shfl_xor_sync(FULL_WARP, x, 1));
  return fmaxf(x, __shfl_xor_sync(FULL_WARP, x, 2));
}
__device__ __forceinline__ float quad_sum(float x) {
  x += __shfl_xor_sync(FULL_WARP, x, 1);
  return x + __shfl_xor_sync(FULL_WARP, x, 2);
}

}  // namespace lab
