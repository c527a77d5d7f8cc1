// exp(scale (s - m)) as 2^(unit s - unit m): one multiply-add and one ex2 per weight. unit is |scale| log2 e, and Q
// takes the sign of scale, so that the largest product is the largest score.
#pragma once
#include <cuda_runtime.h>

#include "common/ptx/ex2.cuh"

namespace lab {

// At scale 0 it stays above 0: a hidden key's -inf must not become a NaN.
__device__ __forceinline__ float exp2_unit(float scale) { return fmaxf(fabsf(scale) * 1.44269504f, 1.17549435e-38f); }

// For weights by one multiply-add each, 2^fmaf(s, factor(m), -m * factor(m)), relative to a score m of their row.
//
// fmaf rounds once, and m * factor was rounded before. So the weight of m itself is 2^r, where r is the error of that
// rounding, and every weight of the row has the factor 2^r; it cancels in O / l. As long as |m| unit is below 2^27, |r|
// is at most 4 and the weights fit a half. Beyond, r grows without bound: 2^r would be infinite, or 0. There the factor
// is a power of two: its product with m is exact, and r = 0. It is not the scale that was asked for, but up to twice as
// much; two different scores are so far apart there that the smaller one's weight is below 2^-4, and the scores' own
// rounding errors are as large as their difference.
struct Exp2Scale {
  float unit;   // exp2_unit(scale)
  float power;  // the power of two at or above it
  float limit;  // of |m|: 2^27 / power
  __device__ __forceinline__ float factor(float m) const { return fabsf(m) > limit ? power : unit; }
};

__device__ __forceinline__ Exp2Scale exp2_scale(float scale) {
  const float unit = exp2_unit(scale);
  const unsigned exponent = (__float_as_uint(unit) + 0x7FFFFFu) >> 23;  // of `power`, with its bias of 127
  return {unit, __uint_as_float(exponent << 23), __uint_as_float(min(254 + 27 - int(exponent), 254) << 23)};
}

// What to XOR two halves of Q with.
__device__ __forceinline__ unsigned sign_bits(float scale) { return scale < 0 ? 0x80008000u : 0; }

}  // namespace lab
