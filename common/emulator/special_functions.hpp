// Results of a GPU's special function unit (MUFU) for 2^x and 1 / x, bit for bit, and CUDA's functions that are made of
// it.
//
// Both are quadratics over intervals of the mantissa, in fixed point, with coefficients of 26, 16 and 10 bits:
//   2^f, 1 <= 2^f < 2: 64 intervals by the top 6 bits of f, remainder 17 bits; 1/m, 1 <= m < 2: 128 intervals, 16 bits.
// The remainder's square keeps only partial products of weight 2^19 and above, and the sum is cut off, not rounded.
// That is the published design (S. Oberman and M. Siu, "A High-Performance Area-Efficient Multifunction Interpolator",
// ARITH 2005); the coefficients were fitted to all 2^23 results of an H200. `make probe what=ex2` holds it to the
// GPU at hand.
#pragma once

namespace lab {

float ex2_approx_ftz(float x);        // ex2.approx.ftz.f32
float rcp_approx_ftz(float x);        // rcp.approx.ftz.f32
float fast_exp(float x);              // __expf, compiled without -use_fast_math
float fast_divide(float x, float y);  // __fdividef, compiled without -use_fast_math

}  // namespace lab
