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

// Whether blocks of a kernel for D columns go longest first over all heads: where the L2 holds the K and V of all of
// them, up to `l2` bytes, and where heads are few. Head by head, blocks that stay would then meet too few heads to even
// out: the busiest SM has 1.8 times the mean with 8 heads, 1.5 with 16. With fewer than 32, blocks of one head are
// abreast of each other and share what they load. Else one head after the other finds its own in the L2.
inline constexpr int MANY_HEADS = 32;
__host__ __device__ constexpr bool over_all_heads(bool causal, int S, int D, int heads, double l2) {
  return causal && (heads < MANY_HEADS || 4.0 * S * D * heads <= l2);
}

// The order over all heads read backwards: which piece a tile is, counted head after head.
constexpr unsigned block_over_all_heads(unsigned tile, unsigned tiles, unsigned heads) {
  return (tiles - 1 - tile % tiles) * heads + tile / tiles;
}

}  // namespace lab
