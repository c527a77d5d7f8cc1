// The tensor maps by which v3a and the stages after it copy tiles.
#pragma once
#include "common/hopper/encode_tiled.hpp"
#include "common/hopper/swizzle.cuh"

namespace lab {

// The map of a [B, H, S, D] tensor in boxes of `rows` rows (at most 256) of one head. The copy engine sees
// [head][slab][row][column], and a box arrives as [D / 64][rows][64], swizzled, from (0, first row, 0, head of all
// batches' heads). A head is an index of its own, so rows from S on arrive as zeros and not as the next head's.
inline cudaError_t head_map(CUtensorMap& map, const half* tensor, const Shape& shape, int rows) {
  const cuuint64_t S = shape.S, D = shape.D, heads = cuuint64_t(shape.B) * shape.H;
  const cuuint64_t size[] = {SLAB, S, D / SLAB, heads};      // column, row, slab, head: the innermost first
  const cuuint64_t stride[] = {D * 2, SLAB * 2, S * D * 2};  // bytes from one row, slab, head to the next
  const cuuint32_t box[] = {SLAB, cuuint32_t(rows), cuuint32_t(D / SLAB), 1};
  const cuuint32_t step[] = {1, 1, 1, 1};  // every element
  return encode_tiled(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 4, const_cast<half*>(tensor), size, stride, box, step,
                      CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                      CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

// The maps of several tensors of one shape.
struct TensorBoxes {
  CUtensorMap& map;
  const half* tensor;
  int rows;
};
inline cudaError_t head_maps(const Shape& shape, std::initializer_list<TensorBoxes> all) {
  for (const auto& [map, tensor, rows] : all)
    if (const cudaError_t error = head_map(map, tensor, shape, rows)) return error;
  return cudaSuccess;
}

}  // namespace lab
