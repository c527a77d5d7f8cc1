#include <cstdio>
#include <string>

#include "common/backend.hpp"
#include "common/cpu/cuda.h"
#include "common/joined.hpp"

using namespace lab;

namespace {

constexpr std::uint64_t LARGEST_EXTENT = std::uint64_t(1) << 32, LARGEST_STRIDE = std::uint64_t(1) << 40;

// Why the driver would refuse the map; empty if it takes it.
std::string refusal(const void* base, const TensorShape& shape) {
  if (shape.rank < 1) return joined("rank 0; 1 to ", MAX_TENSOR_RANK, " are allowed");
  if (!base || std::uintptr_t(base) % 16) return "a base address that is no multiple of 16";
  for (int d = 0; d < shape.rank; ++d) {
    const auto not_allowed = [&](const char* what, std::uint64_t value, const char* allowed) {
      return joined(what, " ", value, " of dimension ", d, "; ", allowed, " allowed");
    };
    if (shape.extent[d] < 1 || shape.extent[d] > LARGEST_EXTENT)
      return not_allowed("extent", shape.extent[d], "1 to 2^32 are");
    if (d > 0 && (shape.stride[d] % 16 || shape.stride[d] >= LARGEST_STRIDE))
      return not_allowed("stride", shape.stride[d], "a multiple of 16 below 2^40 is");
    if (shape.box[d] < 1 || shape.box[d] > 256) return not_allowed("box", shape.box[d], "1 to 256 are");
  }
  const std::uint32_t inner = shape.box[0] * std::uint32_t(sizeof(half));
  if (inner % 16) return joined("rows of ", inner, " bytes in the box; a multiple of 16 is allowed");
  const std::uint32_t most = shape.swizzle == Swizzle::none ? 512 : swizzle_bytes(shape.swizzle);
  return inner <= most ? "" : joined("rows of ", inner, " bytes in the box; the swizzle has room for ", most);
}

}  // namespace

CUresult cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* base,
                                const cuuint64_t* extents, const cuuint64_t* strides, const cuuint32_t* box,
                                const cuuint32_t*, CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                CUtensorMapL2promotion, CUtensorMapFloatOOBfill) {
  const bool sixteen = type == CU_TENSOR_MAP_DATA_TYPE_FLOAT16 || type == CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 ||
                       type == CU_TENSOR_MAP_DATA_TYPE_UINT16;
  *map = {};
  if (!sixteen || rank > MAX_TENSOR_RANK || interleave != CU_TENSOR_MAP_INTERLEAVE_NONE) {
    std::fprintf(stderr, "cuTensorMapEncodeTiled: the CPU has tensors of 16-bit elements in 1 to %d dimensions\n",
                 MAX_TENSOR_RANK);
    return CUDA_ERROR_INVALID_VALUE;
  }
  TensorShape shape;
  shape.rank = int(rank), shape.swizzle = Swizzle(swizzle);
  for (cuuint32_t d = 0; d < rank; ++d) {
    shape.extent[d] = extents[d], shape.box[d] = box[d];
    shape.stride[d] = d == 0 ? sizeof(half) : strides[d - 1];
  }
  if (const std::string why = refusal(base, shape); !why.empty()) {
    set_launch_message("tensor map: " + why);
    return CUDA_ERROR_INVALID_VALUE;
  }
  *map = {shape, static_cast<const half*>(base)};
  return CUDA_SUCCESS;
}
