// Tensor maps of an attention's inputs.
#pragma once
#include "common/stage.hpp"
#include "common/tensor_map.hpp"

namespace lab {

// The columns that a swizzle of 128 bytes spans: a row of D halves lies in D / 64 slabs of [rows][64].
inline constexpr int SLAB = 64;

// The maps of a call's inputs: Q in boxes of the plan's tile_m rows, K and V of tile_n.
struct InputMaps {
  TensorMap q, k, v;
  cudaError_t make(const LaunchPlan& plan, const AttentionArgs& args);
};

}  // namespace lab
