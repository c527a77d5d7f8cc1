// Which query tile of which head a block takes, where blocks differ in length and so their order matters. A GPU starts
// blocks in the order of their index: x fastest, then y, then z.
#pragma once
#include <cuda_runtime.h>

namespace lab {

struct BlockWork {
  int tile;  // of a head's query tiles
  int head;  // of all batches' heads
};

// Block i of `tiles` times `heads`, started as the i-th: the last tiles of all heads, then the ones before them. Every
// (tile, head) comes once.
__host__ __device__ constexpr BlockWork longest_first(unsigned i, unsigned tiles, unsigned heads) {
  return {int(tiles - 1 - i / heads), int(i % heads)};
}

// Piece i of `tiles` times `heads`, in the order in which they are to start.
__host__ __device__ constexpr BlockWork work_of(unsigned i, unsigned tiles, unsigned heads, bool over_all_heads) {
  if (over_all_heads) return longest_first(i, tiles, heads);
  return {int(tiles - 1 - i % tiles), int(i / tiles)};
}

// The piece that block `block` of `blocks` takes in round `round`: rounds go to and fro: the block with the first, and
// longest, piece of one has the last of the next.
__host__ __device__ constexpr unsigned to_and_fro(unsigned round, unsigned block, unsigned blocks) {
  return round * blocks + (round % 2 ? blocks - 1 - block : block);
}

// This block's work in a grid (tiles, H, B): the longest first, over all heads or head by head.
__device__ __forceinline__ BlockWork block_work(int H, bool over_all_heads) {
  const unsigned head = blockIdx.z * unsigned(H) + blockIdx.y;
  if (over_all_heads) return longest_first(blockIdx.x + gridDim.x * head, gridDim.x, unsigned(H) * gridDim.z);
  return {int(gridDim.x - 1 - blockIdx.x), int(head)};
}

// The work of this block's cluster in a grid (tiles * parts, H, B), whose clusters are `parts` blocks along x.
__device__ __forceinline__ BlockWork cluster_work(unsigned parts, int H, bool over_all_heads) {
  const unsigned heads = unsigned(H) * gridDim.z, tiles = gridDim.x / parts;
  const unsigned head = blockIdx.z * unsigned(H) + blockIdx.y;
  return work_of(blockIdx.x / parts + tiles * head, tiles, heads, over_all_heads);
}

// Whether blocks of a kernel with tiles T go longest first over all heads: where the L2 holds the K and V of all of
// them, up to T::L2_SHARE bytes. Else one head after the other finds its own there.
template <class T>
__host__ __device__ constexpr bool over_all_heads(bool causal, int S, int heads) {
  return causal && 4.0 * S * T::D * heads <= T::L2_SHARE;
}

// The orders read backwards, for LaunchPlan::block_of: which block takes a tile, counted head after head.
constexpr unsigned block_over_all_heads(unsigned tile, unsigned tiles, unsigned heads) {
  return (tiles - 1 - tile % tiles) * heads + tile / tiles;
}
constexpr unsigned block_head_by_head(unsigned tile, unsigned tiles, unsigned) {
  return tile / tiles * tiles + (tiles - 1 - tile % tiles);
}

}  // namespace lab
