// The layout in which the copy engine leaves a tile of `rows` rows and D columns, and in which wgmma reads it: slabs of
// 64 columns, [D / 64][rows][64], swizzled by 128 bytes. A slab's row is 128 bytes, eight chunks of 16, and chunk c of
// row r lies in place c ^ (r % 8): eight rows of one column lie in eight different groups of banks. The tile starts on
// 1024 bytes.
#pragma once
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>

namespace lab {

// How a box lies in shared memory. b128: rows of 128 bytes in groups of 8 rows, 1024 bytes; the 16-byte chunk c of row
// r lies where chunk c ^ (r % 8) would, by the bits of the shared address, so a box must start on 1024 bytes. b64 and
// b32 do the same within 64 and 32 bytes (PTX ISA, "Swizzling Modes"). The numbers are CUtensorMapSwizzle's.
enum class Swizzle : std::uint8_t { none, b32, b64, b128 };
constexpr std::uint32_t swizzle_bytes(Swizzle swizzle) {
  return swizzle == Swizzle::none ? 0 : 16u << static_cast<int>(swizzle);
}

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
