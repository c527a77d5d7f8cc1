// Small things that every stage does with tiles and no lesson is about.
#pragma once
#include <cuda_fp16.h>

#include <cstring>

#ifdef __CUDACC__
namespace lab::ptx {
// An address as the .shared instructions take it.
__device__ __forceinline__ unsigned shared_address(const void* pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}
}  // namespace lab::ptx
#endif

namespace lab {

__host__ __device__ constexpr int ceil_div(int a, int b) { return (a + b - 1) / b; }

// Two neighbouring halves as floats; `pair` is 4-byte aligned.
__device__ __forceinline__ float2 load2(const half* pair) {
  return __half22float2(*reinterpret_cast<const half2*>(pair));
}
__device__ __forceinline__ void store2(half* pair, float x, float y) {
  *reinterpret_cast<half2*>(pair) = __floats2half2_rn(x, y);
}

// Copies 8 halves (16 bytes, both pointers aligned to that), or writes 8 zeros if the row lies past the tensor:
// a stale NaN in shared memory would survive being multiplied by a zero weight.
__device__ __forceinline__ void copy8(half* to, const half* from, bool inside) {
  *reinterpret_cast<uint4*>(to) = inside ? *reinterpret_cast<const uint4*>(from) : make_uint4(0, 0, 0, 0);
}

// Two halves in one register, as mma.sync takes its operands: the low half is the neighbour with the smaller index.
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
