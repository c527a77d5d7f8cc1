// Rows of a tile from shared to global memory, 16 bytes at a time. PLACE(r, c) says where column c of row r of the tile
// lies in its array.
#pragma once
#include <cuda_fp16.h>

#include "common/tile.cuh"

namespace lab {

// A warp stores its rows of a tile, first_row .. first_row + ROWS - 1, whose row 0 is row q0 of `out` ([S][D]).
template <int ROWS, int D, int (*PLACE)(int r, int c)>
__device__ __forceinline__ void store_rows(half* out, const half* tile, int first_row, int q0, int S, int lane) {
#pragma unroll
  for (int i = lane; i < ROWS * (D / 8); i += 32) {
    const int r = first_row + i / (D / 8), c = i % (D / 8) * 8;
    if (q0 + r < S) copy8(out + std::size_t(q0 + r) * D + c, &tile[PLACE(r, c)], true);
  }
}

}  // namespace lab
