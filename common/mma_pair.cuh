// Two products of mma.sync with one A: 16 columns of C.
#pragma once
#include "common/ptx/mma.cuh"

namespace lab {

// c[n] += A B0, c[n + 1] += A B1.
template <int TILES>
__device__ __forceinline__ void mma_pair(float (&c)[TILES][4], int n, const unsigned (&a)[4], const unsigned (&b0)[2],
                                         const unsigned (&b1)[2]) {
  ptx::mma_m16n8k16(c[n], a, b0);
  ptx::mma_m16n8k16(c[n + 1], a, b1);
}

}  // namespace lab
