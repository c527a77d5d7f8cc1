// The driver API that kernels with tensor maps use.
#pragma once
#include "common/tensor_map.hpp"
#include "cuda_fp16.h"
#include "cuda_host.h"

#define CUDA_VERSION 13000
#define CUDAAPI
enum CUresult { CUDA_SUCCESS = 0, CUDA_ERROR_INVALID_VALUE = 1 };
using CUdevice = int;
using CUstream = cudaStream_t;
using CUdeviceptr = unsigned long long;
using cuuint32_t = unsigned;
using cuuint64_t = std::uint64_t;
// The same alignment as the driver's; what it holds is the CPU's own.
struct alignas(64) CUtensorMap {
  lab::TensorShape shape;
  const half* base;
};
enum CUtensorMapDataType {
  CU_TENSOR_MAP_DATA_TYPE_UINT8,
  CU_TENSOR_MAP_DATA_TYPE_UINT16,
  CU_TENSOR_MAP_DATA_TYPE_UINT32,
  CU_TENSOR_MAP_DATA_TYPE_INT32,
  CU_TENSOR_MAP_DATA_TYPE_UINT64,
  CU_TENSOR_MAP_DATA_TYPE_INT64,
  CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
  CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
  CU_TENSOR_MAP_DATA_TYPE_FLOAT64,
  CU_TENSOR_MAP_DATA_TYPE_BFLOAT16
};
enum CUtensorMapInterleave {
  CU_TENSOR_MAP_INTERLEAVE_NONE,
  CU_TENSOR_MAP_INTERLEAVE_16B,
  CU_TENSOR_MAP_INTERLEAVE_32B
};
enum CUtensorMapSwizzle {
  CU_TENSOR_MAP_SWIZZLE_NONE,
  CU_TENSOR_MAP_SWIZZLE_32B,
  CU_TENSOR_MAP_SWIZZLE_64B,
  CU_TENSOR_MAP_SWIZZLE_128B
};
enum CUtensorMapL2promotion {
  CU_TENSOR_MAP_L2_PROMOTION_NONE,
  CU_TENSOR_MAP_L2_PROMOTION_L2_64B,
  CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
  CU_TENSOR_MAP_L2_PROMOTION_L2_256B
};
enum CUtensorMapFloatOOBfill { CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA };

// Of 16-bit elements, in up to four dimensions; others are refused with a line on standard error. What the driver refuses, too,
// is refused with a line for the report.
CUresult cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* base,
                                const cuuint64_t* extents, const cuuint64_t* strides, const cuuint32_t* box,
                                const cuuint32_t* element_strides, CUtensorMapInterleave interleave,
                                CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                                CUtensorMapFloatOOBfill fill);
using PFN_cuTensorMapEncodeTiled = decltype(&cuTensorMapEncodeTiled);
using PFN_cuTensorMapEncodeTiled_v12000 = PFN_cuTensorMapEncodeTiled;
inline CUresult cuInit(unsigned) { return CUDA_SUCCESS; }
inline CUresult cuGetErrorString(CUresult error, const char** text) {
  return *text = error == CUDA_SUCCESS ? "no error" : "invalid argument", CUDA_SUCCESS;
}
inline CUresult cuGetErrorName(CUresult error, const char** text) {
  return *text = error == CUDA_SUCCESS ? "CUDA_SUCCESS" : "CUDA_ERROR_INVALID_VALUE", CUDA_SUCCESS;
}
enum cudaDriverEntryPointQueryResult { cudaDriverEntryPointSuccess, cudaDriverEntryPointSymbolNotFound };
enum { cudaEnableDefault = 0 };
cudaError_t cudaGetDriverEntryPoint(const char* symbol, void** function, unsigned long long flags,
                                    cudaDriverEntryPointQueryResult* result = nullptr);
inline cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned,
                                                    unsigned long long flags,
                                                    cudaDriverEntryPointQueryResult* result = nullptr) {
  return cudaGetDriverEntryPoint(symbol, function, flags, result);
}
