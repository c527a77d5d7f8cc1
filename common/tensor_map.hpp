// Tensor maps: what the copy engine (TMA) knows of a tensor in global memory. Made on the host, by one function for
// both backends; a kernel takes one as `const __grid_constant__ lab::TensorMap`. (CUDA driver API,
// cuTensorMapEncodeTiled.)
#pragma once
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <string>
#if defined(LAB_GPU) || defined(__CUDACC__)
#include <cuda.h>
#endif

namespace lab {

// How a box lies in shared memory. b128: rows of 128 bytes in groups of 8 rows, 1024 bytes; the 16-byte chunk c of row
// r lies where chunk c ^ (r % 8) would, by the bits of the shared address, so a box must start on 1024 bytes. b64 and
// b32 do the same within 64 and 32 bytes (PTX ISA, "Swizzling Modes").
enum class Swizzle : std::uint8_t { none, b32, b64, b128 };
constexpr std::uint32_t swizzle_bytes(Swizzle swizzle) {
  return swizzle == Swizzle::none ? 0 : 16u << static_cast<int>(swizzle);
}

inline constexpr int MAX_TENSOR_RANK = 4;

// A row-major fp16 tensor and the box that one copy moves; dimension 0 is the innermost.
struct TensorShape {
  int rank = 2;
  std::uint64_t extent[MAX_TENSOR_RANK] = {};  // elements
  std::uint64_t stride[MAX_TENSOR_RANK] = {};  // bytes from one index to the next; [0] is the element's size
  std::uint32_t box[MAX_TENSOR_RANK] = {};     // elements; box[0] * 2 bytes at most the swizzle's
  Swizzle swizzle = Swizzle::b128;
};

#if defined(LAB_GPU) || defined(__CUDACC__)
using TensorMap = CUtensorMap;
#else
// The same size and alignment as the driver's; what it holds is the CPU's own.
struct alignas(64) TensorMap {
  TensorShape shape;
  const half* base = nullptr;
};
static_assert(sizeof(TensorMap) <= 192);
#endif

// Encodes a map of the tensor at `base` (device memory, 16-byte aligned). Returns cudaErrorInvalidValue, with a line
// for the report (set_launch_message), for what the driver refuses: a stride that is no multiple of 16, a box of more
// than 256 in a dimension, an inner box larger than the swizzle.
//
// Both backends refuse the same, in the same words: tensor_map_refusal(), empty if there is nothing to refuse.
std::string tensor_map_refusal(const half* base, const TensorShape& shape);
cudaError_t make_tensor_map(TensorMap& map, const half* base, const TensorShape& shape);

}  // namespace lab
