// How many rows a warp should take: 32 halve the loads per product, 16 make twice the blocks.
#pragma once
#include "common/shape.hpp"
#include "common/tile.cuh"

namespace lab {

// Whether blocks of `warps` warps with 32 query rows each are more than an H200's 132 SMs; twice that under a causal
// mask, where many finish early.
inline bool fills_a_gpu(const Shape& shape, int warps) {
  const double blocks = double(ceil_div(shape.S, 32 * warps)) * shape.H * shape.B;
  return blocks > (shape.causal ? 264 : 132);
}

}  // namespace lab
