// Two halves in one 32-bit register, as mma.sync takes its operands. The low half is the neighbour with the smaller
// index.
#pragma once
#include <cuda_fp16.h>

#include <cstring>

namespace lab {

__device__ __forceinline__ unsigned half_pair(half2 both) {
  unsigned bits;
  std::memcpy(&bits, &both, sizeof bits);
  return bits;
}
__device__ __forceinline__ unsigned half_pair(half low, half high) { return half_pair(half2{low, high}); }
// Rounds to the nearest half, ties to even: one instruction on a GPU.
__device__ __forceinline__ unsigned half_pair(float low, float high) { return half_pair(__floats2half2_rn(low, high)); }
// The two of a pair, low one first, exactly.
__device__ __forceinline__ float2 floats(unsigned pair) {
  half2 both;
  std::memcpy(&both, &pair, sizeof both);
  return __half22float2(both);
}
// Two neighbours in memory: one load. `low` is 4-byte aligned.
__device__ __forceinline__ unsigned half_pair_at(const half* low) {
  return half_pair(*reinterpret_cast<const half2*>(low));
}

}  // namespace lab
