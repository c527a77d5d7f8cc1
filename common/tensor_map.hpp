// A box in shared memory, as the copy engine (TMA) and wgmma lay it out, and a tensor map's contents as the CPU keeps them.
// (CUDA driver API, cuTensorMapEncodeTiled.)
#pragma once
#include <cstdint>

namespace lab {

// How a box lies in shared memory. b128: rows of 128 bytes in groups of 8 rows, 1024 bytes; the 16-byte chunk c of row
// r lies where chunk c ^ (r % 8) would, by the bits of the shared address, so a box must start on 1024 bytes. b64 and
// b32 do the same within 64 and 32 bytes (PTX ISA, "Swizzling Modes"). The numbers are CUtensorMapSwizzle's.
enum class Swizzle : std::uint8_t { none, b32, b64, b128 };
constexpr std::uint32_t swizzle_bytes(Swizzle swizzle) {
  return swizzle == Swizzle::none ? 0 : 16u << static_cast<int>(swizzle);
}

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
