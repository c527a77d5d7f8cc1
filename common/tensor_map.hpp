// A box in shared memory, as the copy engine (TMA) and wgmma lay it out, and a tensor map's contents as the CPU keeps them.
// (CUDA driver API, cuTensorMapEncodeTiled.)
#pragma once
#include <cstdint>

#include "common/hopper/swizzle.cuh"

namespace lab {

// Bytes: the engine's smallest step in counting them (common/ptx/tma.cuh).
inline constexpr unsigned LEAST_COUNTED = 32;

inline constexpr int MAX_TENSOR_RANK = 4;

// A row-major fp16 tensor and the box that one copy moves; dimension 0 is the innermost.
struct TensorShape {
  int rank = 2;
  std::uint64_t extent[MAX_TENSOR_RANK] = {};  // elements
  std::uint64_t stride[MAX_TENSOR_RANK] = {};  // bytes from one index to the next; [0] is the element's size
  std::uint32_t box[MAX_TENSOR_RANK] = {};     // elements; box[0] * 2 bytes at most the swizzle's
  Swizzle swizzle = Swizzle::b128;
};

}  // namespace lab
