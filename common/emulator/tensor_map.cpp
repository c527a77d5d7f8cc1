#include "common/tensor_map.hpp"

#include "common/backend.hpp"

namespace lab {

cudaError_t make_tensor_map(TensorMap& map, const half* base, const TensorShape& shape) {
  map = {};
  if (const std::string why = tensor_map_refusal(base, shape); !why.empty()) {
    set_launch_message(why);
    return cudaErrorInvalidValue;
  }
  map.shape = shape, map.base = base;
  return cudaSuccess;
}

}  // namespace lab
