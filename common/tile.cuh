// Small things that every stage does with tiles and no lesson is about.
#pragma once
#include <cuda_fp16.h>

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

// 8 halves from column c of row r of a [S][D] tensor on, or zeros if the row lies past it; with their signs turned if
// sign_bits is 0x80008000 and not 0.
template <int D>
__device__ __forceinline__ uint4 load8(const half* from, int r, int c, int S, unsigned sign_bits) {
  uint4 x = make_uint4(0, 0, 0, 0);
  if (r < S) x = *reinterpret_cast<const uint4*>(from + std::size_t(r) * D + c);
  return make_uint4(x.x ^ sign_bits, x.y ^ sign_bits, x.z ^ sign_bits, x.w ^ sign_bits);
}

}  // namespace lab
