// exp(scale (s - m)) as 2^(unit s - unit m): one multiply-add and one ex2 per weight. unit is |scale| log2 e, and Q
// takes the sign of scale, so that the largest product is the largest score.
#pragma once
#include <cuda_runtime.h>

#include "common/ptx/ex2.cuh"
#include "common/ptx/rcp.cuh"

namespace lab {

// At scale 0 it stays above 0: a hidden key's -inf must not become a NaN.
__device__ __forceinline__ float exp2_unit(float scale) { return fmaxf(fabsf(scale) * 1.44269504f, 1.17549435e-38f); }

// Weights by one multiply-add each, 2^fmaf(s, factor, -base), relative to the largest score m of their row.
//
// fmaf rounds once, and base = m * factor was rounded before. So the weight of m itself is 2^r, where r is the error of
// that rounding, and every weight of the row has the factor 2^r; it cancels in O / l. Up to |m| unit = 2^27, |r| is at
// most 4 and the weights fit a half. Beyond, r grows without bound: 2^r would be infinite, or 0. There the factor is a
// power of two: its product with m is exact, and r = 0. It is up to twice the scale that was asked for; two different
// scores are so far apart there that the smaller one's weight is below 2^-8, and the scores' own rounding errors are as
// large as their difference.
struct Exp2Scale {
  float unit;   // exp2_unit(scale)
  float power;  // the power of two at or above it
  // The factor and base of a row whose largest score is m. m = -inf, for a row that sees no key yet, has base 0: its
  // weights are 0 and not NaN.
  __device__ __forceinline__ void relative_to(float m, float& factor, float& base) const {
    constexpr float LARGEST = 134217728.0f;  // 2^27
    const float product = m * unit;
    const bool beyond = fabsf(product) > LARGEST;
    factor = beyond ? power : unit;
    base = beyond ? (m == -INFINITY ? 0.0f : m) * power : product;
  }
  // The score whose weight relative to m is the largest power of two up to sum. Where sum is below 2, m itself.
  __device__ __forceinline__ float raised(float m, float sum) const {
    const int exponent = int(__float_as_uint(sum) >> 23) - 127;
    return m + float(max(exponent, 0)) * ptx::rcp(unit);
  }
};

__device__ __forceinline__ Exp2Scale exp2_scale(float scale) {
  const float unit = exp2_unit(scale);
  return {unit, __uint_as_float((__float_as_uint(unit) + 0x7FFFFFu) & 0x7F800000u)};
}

// The mask to XOR two halves of Q with.
__device__ __forceinline__ unsigned sign_bits(float scale) { return scale < 0 ? 0x80008000u : 0; }

}  // namespace lab
