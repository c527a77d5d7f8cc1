// A drill's kernel file includes this. NAME.cu is plain CUDA: a kernel, and drill(), which launches it. It holds the
// solution between #ifdef SOLUTION and #else, and the learner's text between #else and #endif.
#pragma once
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "common/hopper/encode_tiled.hpp"

// Exported by the kernel's library: queues the kernel on `stream`, and returns why the launch was refused. `size` holds
// the numbers that the judge calls this launch's size (drill.hpp).
extern "C" [[gnu::visibility("default")]] cudaError_t drill(const half* in, float* out, const int* size,
                                                            cudaStream_t stream);

namespace lab {

// The map of a row-major matrix of halves, in boxes of box_rows x box_columns.
inline cudaError_t matrix_map(CUtensorMap& map, const void* matrix, int rows, int columns, int box_rows,
                              int box_columns, CUtensorMapSwizzle swizzle) {
  const cuuint64_t size[] = {cuuint64_t(columns), cuuint64_t(rows)};  // the innermost dimension first
  const cuuint64_t stride[] = {columns * sizeof(half)};               // bytes from one row to the next
  const cuuint32_t box[] = {cuuint32_t(box_columns), cuuint32_t(box_rows)};
  const cuuint32_t step[] = {1, 1};  // every element
  return encode_tiled(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, const_cast<void*>(matrix), size, stride, box, step,
                      CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                      CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

}  // namespace lab
