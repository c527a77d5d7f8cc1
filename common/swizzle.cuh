// V2d's swizzle (stages/v2d_ldmatrix), for the stages after it.
#pragma once
#include <cuda_runtime.h>

namespace lab {

// Where column c of row r lies in an array of shared memory whose rows are T::LD halves: the 16-byte chunks of a row,
// eight by eight, change places by the row, so that the eight rows that an ldmatrix takes lie in eight different groups
// of banks.
template <class T>
__host__ __device__ constexpr int swizzled(int r, int c) {
  return r * T::LD + ((c / 8) ^ (r % 8)) * 8 + c % 8;
}

}  // namespace lab
