// Which keys a row sees: those before S, and under a causal mask none after its own.
#pragma once
#include "common/hopper/hide_after.cuh"

namespace lab {

// Hides the scores of all other keys, in both of the lane's rows. first_row: the query of the lane's first row;
// first_key: the key of the tile's first column; column: the lane's first. s[FLOATS]: m64n(2 * FLOATS) accumulator
// layout.
template <int FLOATS>
__device__ __forceinline__ void hide_keys(float (&s)[FLOATS], int first_row, int first_key, int column, int S,
                                          bool causal) {
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const int row = first_row + 8 * h;
    hide_after(s, h, (causal ? min(row, S - 1) : S - 1) - first_key - column);
  }
}

}  // namespace lab
