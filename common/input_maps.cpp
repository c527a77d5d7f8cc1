#include "common/input_maps.hpp"

#include <cstdint>

namespace lab {
cudaError_t head_tiles_map(TensorMap& map, const half* base, const Shape& shape, int rows) {
  const std::uint64_t S = shape.S, D = shape.D, row = D * sizeof(half);
  TensorShape tensor;
  tensor.rank = 4;
  tensor.extent[0] = SLAB, tensor.stride[0] = sizeof(half), tensor.box[0] = SLAB;
  tensor.extent[1] = S, tensor.stride[1] = row, tensor.box[1] = rows;
  tensor.extent[2] = D / SLAB, tensor.stride[2] = SLAB * sizeof(half), tensor.box[2] = D / SLAB;
  tensor.extent[3] = std::uint64_t(shape.B) * shape.H, tensor.stride[3] = S * row, tensor.box[3] = 1;
  return make_tensor_map(map, base, tensor);
}

cudaError_t InputMaps::make(const LaunchPlan& plan, const AttentionArgs& a) {
  if (const cudaError_t error = head_tiles_map(q, a.q, a.shape, plan.tile_m); error != cudaSuccess) return error;
  if (const cudaError_t error = head_tiles_map(k, a.k, a.shape, plan.tile_n); error != cudaSuccess) return error;
  return head_tiles_map(v, a.v, a.shape, plan.tile_n);
}

}  // namespace lab
