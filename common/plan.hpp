// Sizes of shared arrays, and the refusal of more shared memory than a block has.
#pragma once
#include <cuda_runtime.h>

#include <cstddef>

#include "common/backend.hpp"

namespace lab {

// Arrays start on 32-byte boundaries: WMMA wants 256-bit aligned pointers. An array that TMA swizzles starts on 1024
// bytes, as the pattern depends on the address: cursor.array<half, SWIZZLE_ALIGN>(...), from an AlignedSmemCursor.
inline constexpr std::size_t SMEM_ALIGN = 32, SWIZZLE_ALIGN = 1024;
__host__ __device__ constexpr std::size_t smem_bytes(std::size_t elements, std::size_t element) {
  return (elements * element + SMEM_ALIGN - 1) / SMEM_ALIGN * SMEM_ALIGN;
}

__host__ __device__ constexpr std::size_t aligned_up(std::size_t bytes, std::size_t align) {
  return (bytes + align - 1) / align * align;
}

// Refuses, with the code and text of the source notes' dispatcher, what the stage's target could not run, whatever
// the GPU at hand allows. `smem` in bytes, static and dynamic together.
cudaError_t check_budget(const char* kernel_name, std::size_t smem);

}  // namespace lab
