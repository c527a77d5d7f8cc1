// Which matrix element each lane holds: mma.m16n8k16's A, B and C, and ldmatrix's result. Unlike WMMA's fragments these
// are documented (PTX ISA, "Matrix Fragments for mma.m16n8k16 with floating point type", "ldmatrix"). The CPU's
// instructions and the figures use them; `make probe what=mma` holds them against a GPU.
#pragma once
#include <cuda_runtime.h>

namespace lab::mma_layout {

inline constexpr int LANES = 32, M = 16, N = 8, K = 16;
inline constexpr int A_ELEMENTS = 8, B_ELEMENTS = 4, C_ELEMENTS = 4;  // per lane

struct Place {
  int row, column;
  constexpr bool operator==(const Place&) const = default;
};

// Halves are numbered through a lane's registers: element e is half e % 2 (0: low) of register e / 2.
__host__ __device__ constexpr Place a(int lane, int e) {
  return {lane / 4 + 8 * (e / 2 % 2), 2 * (lane % 4) + e % 2 + 8 * (e / 4)};
}
__host__ __device__ constexpr Place b(int lane, int e) {
  return {2 * (lane % 4) + e % 2 + 8 * (e / 2), lane / 4};
}  // (k, n)
__host__ __device__ constexpr Place c(int lane, int e) { return {lane / 4 + 8 * (e / 2), 2 * (lane % 4) + e % 2}; }

// ldmatrix: element e of a lane comes from matrix e / 2, whose row j is where lane 8 (e / 2) + j points.
__host__ __device__ constexpr Place ldmatrix(int lane, int e, bool transposed) {
  const Place plain{lane / 4, 2 * (lane % 4) + e % 2};
  return transposed ? Place{plain.column, plain.row} : plain;
}
__host__ __device__ constexpr int ldmatrix_address_lane(int matrix, int row) { return 8 * matrix + row; }

}  // namespace lab::mma_layout
