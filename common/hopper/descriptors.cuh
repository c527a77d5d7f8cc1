// The descriptors of wgmma's operands in tiles of common/hopper/swizzle.cuh's layout, and how to move along them. The
// 128-byte swizzle repeats every 8 rows of 128 bytes, 1024 bytes: the stride byte offset, from 8 rows to the next 8.
//
//   K major (Q and K in Q K^T): a row of the tile is a row of A or a column of B; k runs along it. A product's 16
//   columns lie within one slab, so the leading byte offset is not used.
//
//   MN major (V in P V): a row of the tile is a k, a key; B's columns run along it. The leading byte offset is the
//   distance from 64 columns of B to the next 64, that of two slabs: it is used where D is more than 64.
#pragma once
#include <cuda_fp16.h>

#include "common/input_maps.hpp"
#include "common/ptx/wgmma.cuh"

namespace lab {

inline constexpr unsigned SLAB_ROW_BYTES = SLAB * sizeof(half);  // 128
inline constexpr unsigned PATTERN_BYTES = 8 * SLAB_ROW_BYTES;    // 1024
inline constexpr unsigned UNUSED_LEADING_BYTES = 16;
inline constexpr int WGMMA_K = 16;  // columns of A, and rows of B, in one product

// `Tile`: a pointer into shared memory, or an address there (std::uint32_t).
template <class Tile>
__device__ __forceinline__ ptx::Descriptor k_major_descriptor(Tile tile) {
  return ptx::wgmma_descriptor(tile, UNUSED_LEADING_BYTES, PATTERN_BYTES);
}
template <int ROWS, class Tile>
__device__ __forceinline__ ptx::Descriptor mn_major_descriptor(Tile tile) {
  return ptx::wgmma_descriptor(tile, ROWS * SLAB_ROW_BYTES, PATTERN_BYTES);
}

// Of a K-major tile of ROWS rows, columns from 16 i on: 32 bytes further in the slab's rows, or in a later slab.
template <int ROWS>
__device__ __forceinline__ ptx::Descriptor advance_k(ptx::Descriptor tile, int i) {
  constexpr int IN_A_SLAB = SLAB / WGMMA_K;
  return ptx::advance(tile, i / IN_A_SLAB * ROWS * SLAB_ROW_BYTES + i % IN_A_SLAB * WGMMA_K * sizeof(half));
}
// Of an MN-major tile, keys from 16 i on: 16 rows of 128 bytes further.
__device__ __forceinline__ ptx::Descriptor advance_keys(ptx::Descriptor tile, int i) {
  return ptx::advance(tile, i * WGMMA_K * SLAB_ROW_BYTES);
}

}  // namespace lab
