// Tensor maps of an attention's inputs.
#pragma once
#include "common/hopper/swizzle.cuh"
#include "common/stage.hpp"
#include "common/tensor_map.hpp"

namespace lab {

// The map of a [B, H, S, D] tensor by tiles of `rows` rows (at most 256) of one head, each a box [D / 64][rows][64] in
// shared memory, swizzled by 128 bytes, from (0, first row, 0, head of all batches' heads). A head is an index of its
// own, so rows from S on arrive as zeros and are not the next head's.
cudaError_t head_tiles_map(TensorMap& map, const half* base, const Shape& shape, int rows);

// The maps of a call's inputs: Q in boxes of the plan's tile_m rows, K and V of tile_n.
struct InputMaps {
  TensorMap q, k, v;
  cudaError_t make(const LaunchPlan& plan, const AttentionArgs& args);
};

}  // namespace lab
