// cuTensorMapEncodeTiled, found through the runtime: the lab links no libcuda.
#include "common/tensor_map.hpp"

#include <cstring>

#include "common/backend.hpp"

namespace lab {
namespace {

CUtensorMapSwizzle driver_swizzle(Swizzle swizzle) {
  switch (swizzle) {
    case Swizzle::none:
      return CU_TENSOR_MAP_SWIZZLE_NONE;
    case Swizzle::b32:
      return CU_TENSOR_MAP_SWIZZLE_32B;
    case Swizzle::b64:
      return CU_TENSOR_MAP_SWIZZLE_64B;
    case Swizzle::b128:
      return CU_TENSOR_MAP_SWIZZLE_128B;
  }
  return CU_TENSOR_MAP_SWIZZLE_NONE;
}

using Encode = decltype(&cuTensorMapEncodeTiled);

Encode find_encode() {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
  constexpr unsigned FIRST_WITH_IT = 12000;
  if (cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, FIRST_WITH_IT, cudaEnableDefault, &found) !=
          cudaSuccess ||
      found != cudaDriverEntryPointSuccess) {
    cudaGetLastError();  // not the next launch's
    return nullptr;
  }
  return reinterpret_cast<Encode>(function);
}

cudaError_t refused(const std::string& why) {
  set_launch_message(why);
  return cudaErrorInvalidValue;
}

}  // namespace

cudaError_t make_tensor_map(TensorMap& map, const half* base, const TensorShape& shape) {
  std::memset(&map, 0, sizeof map);
  if (const std::string why = tensor_map_refusal(base, shape); !why.empty()) return refused(why);
  static const Encode encode = find_encode();
  if (!encode) return refused("tensor map: this driver has no cuTensorMapEncodeTiled");
  cuuint64_t extent[MAX_TENSOR_RANK], stride[MAX_TENSOR_RANK];  // the driver's strides begin with dimension 1
  cuuint32_t box[MAX_TENSOR_RANK], every_element[MAX_TENSOR_RANK];
  for (int d = 0; d < shape.rank; ++d) {
    extent[d] = shape.extent[d], box[d] = shape.box[d], every_element[d] = 1;
    if (d > 0) stride[d - 1] = shape.stride[d];
  }
  const CUresult result =
      encode(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, cuuint32_t(shape.rank), const_cast<half*>(base), extent, stride,
             box, every_element, CU_TENSOR_MAP_INTERLEAVE_NONE, driver_swizzle(shape.swizzle),
             CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS) return refused("tensor map: the driver refuses it (" + std::to_string(result) + ")");
  return cudaSuccess;
}

}  // namespace lab
