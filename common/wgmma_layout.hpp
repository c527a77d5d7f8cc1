// Where wgmma finds and leaves the elements of its matrices: descriptors taken apart, addresses of A and B in shared
// memory, and the registers of A and D. Plain functions, for the CPU's wgmma, the unit tests and `make probe what=wgmma`,
// which holds them against a GPU. (PTX ISA, "Matrix Descriptor Format", "Strides", "Register Fragments for
// wgmma.mma_async".)
#pragma once
#include <cuda_runtime.h>

#include <cstdint>

#include "common/mma_layout.hpp"

namespace lab::wgmma_layout {

inline constexpr int M = 64, K = 16, MAX_N = 256, WARPS = 4, ROWS_PER_WARP = 16;

// A descriptor's fields, in bytes. `swizzle` is 0 (none), 32, 64 or 128.
struct Matrix {
  std::uint32_t address, leading, stride;  // 18 bits each
  std::uint32_t base_offset;               // 0..7
  std::uint32_t swizzle;

  __host__ __device__ constexpr explicit Matrix(std::uint64_t descriptor)
      : address(std::uint32_t(descriptor & 0x3FFF) << 4),
        leading(std::uint32_t(descriptor >> 16 & 0x3FFF) << 4),
        stride(std::uint32_t(descriptor >> 32 & 0x3FFF) << 4),
        base_offset(std::uint32_t(descriptor >> 49 & 7)),
        swizzle(descriptor >> 62 ? 256u >> (descriptor >> 62) : 0u) {}
};

// The 16-byte chunk that holds `address` is moved within its row of `swizzle` bytes, by the address bits from 7 on: 1,
// 2 or 3 of them, XORed into those from 4 on. The bits are the absolute address's; `base_offset` says how many rows of
// 128 bytes after a multiple of 1024 the pattern starts.
__host__ __device__ constexpr std::uint32_t swizzled(std::uint32_t address, std::uint32_t swizzle,
                                                     std::uint32_t base_offset = 0) {
  const std::uint32_t mask = swizzle == 0 ? 0 : (swizzle / 16 - 1) << 7;
  return address ^ (((address - (base_offset << 7)) & mask) >> 3);
}

// The shared address (window bytes) of element (mn, k) of a matrix: mn is the row of A or the column of B.
//   k innermost:   8 rows are a core matrix (none: of 16 bytes each) or a swizzle atom; `stride` from 8 rows to the
//                  next 8. none: `leading` from 8 k to the next 8; swizzled rows run on through k.
//   mn innermost:  none: 8 mn are contiguous, `stride` from those to the next 8, 16 bytes from k to k, `leading` from 8
//                  k to the next 8. swizzled: a row of `swizzle` bytes for each k, `leading` from one row's mn to the
//                  next ones, `stride` from 8 k to the next 8.
__host__ __device__ constexpr std::uint32_t address_of(const Matrix& matrix, bool mn_major, int mn, int k) {
  const auto row = std::uint32_t(mn), depth = std::uint32_t(k);
  std::uint32_t at = matrix.address;
  if (!mn_major) {
    if (matrix.swizzle == 0)
      at += row / 8 * matrix.stride + row % 8 * 16 + depth / 8 * matrix.leading + depth % 8 * 2;
    else
      at += row / 8 * matrix.stride + row % 8 * matrix.swizzle + depth * 2;
  } else {
    if (matrix.swizzle == 0) {
      at += row / 8 * matrix.stride + row % 8 * 2 + depth / 8 * matrix.leading + depth % 8 * 16;
    } else {
      const std::uint32_t width = matrix.swizzle / 2;
      at += row / width * matrix.leading + row % width * 2 + depth / 8 * matrix.stride + depth % 8 * matrix.swizzle;
    }
  }
  return swizzled(at, matrix.swizzle, matrix.base_offset);
}

struct Place {
  int row, column;
};

// Element i of thread `thread`'s D (0 <= thread < 128, i < N / 2), and of its A in registers (element e: half e % 2 of
// register e / 2).
__host__ __device__ constexpr Place d(int thread, int i) {
  const mma_layout::Place at = mma_layout::c(thread % 32, i % 4);
  return {thread / 32 * ROWS_PER_WARP + at.row, i / 4 * 8 + at.column};
}
__host__ __device__ constexpr Place a(int thread, int e) {
  const mma_layout::Place at = mma_layout::a(thread % 32, e);
  return {thread / 32 * ROWS_PER_WARP + at.row, at.column};
}

}  // namespace lab::wgmma_layout
