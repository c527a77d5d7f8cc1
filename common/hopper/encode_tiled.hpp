// cuTensorMapEncodeTiled, found through the runtime: the lab links no libcuda.
#pragma once
#include <cuda.h>
#include <cuda_runtime.h>

#include "common/attention.hpp"

namespace lab {

inline auto find_encode_tiled() {
  constexpr unsigned FIRST_WITH_IT = 12000;
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
  cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, FIRST_WITH_IT, cudaEnableDefault, &found);
  cudaGetLastError();  // not the next launch's
  return found == cudaDriverEntryPointSuccess ? reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(function) : nullptr;
}

// The driver's arguments; refused with its number where the driver refuses them.
template <class... Args>
cudaError_t encode_tiled(Args... args) {
  static const auto encode = find_encode_tiled();
  if (!encode) return refuse("this driver has no cuTensorMapEncodeTiled");
  const CUresult result = encode(args...);
  return result == CUDA_SUCCESS ? cudaSuccess : refuse("the driver refuses a tensor map (%d)", int(result));
}

}  // namespace lab
