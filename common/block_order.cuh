// The work of this block, by its index: common/block_order.hpp has the orders.
#pragma once
#include "common/block_order.hpp"

namespace lab {

// The work of this block's cluster in a grid (tiles * parts, H, B), whose clusters are `parts` blocks along x.
__device__ __forceinline__ BlockWork cluster_work(unsigned parts, int H, bool over_all_heads) {
  const unsigned heads = unsigned(H) * gridDim.z, tiles = gridDim.x / parts;
  const unsigned head = blockIdx.z * unsigned(H) + blockIdx.y;
  return work_of(blockIdx.x / parts + tiles * head, tiles, heads, over_all_heads);
}

}  // namespace lab
