// The layout in which the copy engine leaves a tile of `rows` rows and D columns, and in which wgmma reads it: slabs of
// 64 columns, [D / 64][rows][64], swizzled by 128 bytes. A slab's row is 128 bytes, eight chunks of 16, and chunk c of
// row r lies in place c ^ (r % 8): eight rows of one column lie in eight different groups of banks. The tile starts on
// SWIZZLE_ALIGN bytes.
#pragma once
#include <cuda_fp16.h>
#include <cuda_runtime.h>

namespace lab {

inline constexpr int SLAB = 64;  // columns of a row that a swizzle of 128 bytes spans

// Where column c of row r lies in such a tile of ROWS rows.
template <int ROWS>
__device__ __forceinline__ int swizzled(int r, int c) {
  return (c / SLAB * ROWS + r) * SLAB + ((c / 8 ^ r) % 8) * 8 + c % 8;
}

// The same element of a tile that is declared so.
template <int SLABS, int ROWS>
__device__ __forceinline__ half* swizzled(half (&tile)[SLABS][ROWS][SLAB], int r, int c) {
  return &tile[c / SLAB][r][((c / 8 ^ r) % 8) * 8 + c % 8];
}

}  // namespace lab
