// Scores become -inf in wgmma's accumulator, where a lane has two rows, 8 apart, and two neighbours of every eight
// columns.
#pragma once
#include <cuda_runtime.h>

namespace lab {

// In the lane's first (h = 0) or second (h = 1) row: the columns after `last`, counted from the lane's first column.
// s[FLOATS]: scores, m64n(2 * FLOATS) accumulator layout.
template <int FLOATS>
__device__ __forceinline__ void hide_after(float (&s)[FLOATS], int h, int last) {
#pragma unroll
  for (int n = 0; n < FLOATS / 4; ++n)
#pragma unroll
    for (int e = 0; e < 2; ++e)
      if (8 * n + e > last) s[4 * n + 2 * h + e] = -INFINITY;
}

}  // namespace lab
