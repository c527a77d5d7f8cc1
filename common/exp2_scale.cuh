// exp(scale s - m) as 2^(unit s - base): one multiply-add and one ex2 per weight. unit is |scale| log2 e, and Q takes
// the sign of scale, so that the largest product is the largest score.
#pragma once
#include <cuda_runtime.h>

#include "common/ptx/ex2.cuh"

namespace lab {

// At scale 0 it stays above 0: a hidden key's -inf must not become a NaN.
__device__ __forceinline__ float exp2_unit(float scale) { return fmaxf(fabsf(scale) * 1.44269504f, 1.17549435e-38f); }

// What to XOR two halves of Q with.
__device__ __forceinline__ unsigned sign_bits(float scale) { return scale < 0 ? 0x80008000u : 0; }

}  // namespace lab
