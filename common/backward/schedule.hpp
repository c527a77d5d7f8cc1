// The order in which the key blocks of a head meet its query blocks and add to dQ, so that none waits for another on
// paper: in a slot, the time of one such pair, no two key blocks are at the same query block.
// Without a mask key block j begins at query block j and goes round. With a mask, here n = 6, the number is the slot:
//
//   query block    0  1  2 | 3  4  5     Lower key blocks start together. They go round in the square, then down in the
//   key block 0    3  4  5 | 0  1  2     triangle beside it. Upper key blocks start where these have ended, the longest
//             1       3  4 | 2  0  1     first, and go up in the other triangle.
//             2          3 | 1  2  0
//             3            | 6  5  4
//             4            |    6  5
//             5            |       6
#pragma once
#include <cuda_runtime.h>

#include <algorithm>

#include "common/tile.cuh"

namespace lab {

struct Schedule {
  int n;         // key blocks of a head, as many as query blocks
  int lower;     // of these, the ones that start first and wait for each other; 0: each waits for earlier ones only
  int together;  // heads whose blocks start alternately
  bool causal;

  struct Block {
    int head, key;  // of those heads; of that head's key blocks
  };
  // The i-th block that starts. The lower key blocks come head after head: at most one head is left without room for all
  // that wait for each other. Then come the others, of all these heads the longest first; without lower ones the last
  // keys first, each of which waits for later keys (b6).
  __host__ __device__ constexpr Block block(int i) const {
    if (i < together * lower) return {i / lower, i % lower};
    const int rest = i - together * lower;
    return {rest % together, lower ? lower + rest / together : n - 1 - rest / together};
  }
  // The t-th query block of key block j.
  __host__ __device__ constexpr int query(int j, int t) const {
    if (!lower) return causal ? j + t : t;
    if (!causal) return j + t < n ? j + t : j + t - n;
    if (j >= lower) return n - 1 - t;
    if (t >= lower) return j + t - lower;
    return n - lower + (j + t < lower ? j + t : j + t - lower);
  }
  // Key blocks that add to query block q before key block j does.
  __host__ __device__ constexpr int before(int j, int q) const {
    if (!lower) return (causal ? q : n - 1) - j;
    if (!causal) return q >= j ? q - j : q - j + n;
    if (j >= lower) return j;
    const int column = q - (n - lower);  // of the square
    if (column < 0) return q - j;
    return column >= j ? column - j : column - j + lower;
  }
};

// A small problem's blocks add to nothing: parts of dQ are stored apart, and blocks share the queries of their keys. How
// many do: as many as leave each a multiprocessor, where that makes the longest walk three tiles shorter at least, about
// what the parts of dK and dV cost (measured). 0: the problem is not small. tiles: query tiles of a head.
inline constexpr int SPREAD = 132;  // blocks, at most. Not the GPU's number: the bits would depend on it
// Key blocks of a head, at most; where three blocks or more share queries few heads are at work, and turns would be a
// chain through each.
inline constexpr int MOST_APART = 8, MOST_APART_SHARING = 32;
inline int small_parts(int key_blocks, int heads, int tiles) {
  key_blocks = std::max(key_blocks, 1), heads = std::max(heads, 1);
  if (heads > SPREAD / key_blocks) return 0;
  const int most = std::min(SPREAD / heads / key_blocks, tiles), parts = tiles - ceil_div(tiles, most) >= 3 ? most : 1;
  return key_blocks > (parts > 2 ? MOST_APART_SHARING : MOST_APART) ? 0 : parts;
}

// Launches whose blocks may get room alternately: as many as there are priorities of streams. Each leaves at most one head
// incomplete, so with room for as many heads one of them goes on.
inline constexpr int GRIDS = 6;
inline constexpr int MOST_SCHEDULED = 16;  // key blocks; with more, the order without lower ones is as fast (measured)
inline constexpr int BLOCKS_TOGETHER = 256;  // of as many heads as that takes, where none waits in a circle

// turns: whether blocks wait for their turn to add. Where a GPU has too few multiprocessors for a schedule the bits are other ones.
inline Schedule schedule_of(int key_blocks, int heads, bool causal, bool turns, int multiprocessors) {
  if (!turns || key_blocks > std::min(MOST_SCHEDULED, multiprocessors / GRIDS))
    return {key_blocks, 0, std::clamp(BLOCKS_TOGETHER / key_blocks, 1, heads), causal};
  const int lower = causal ? ceil_div(key_blocks, 2) : key_blocks;
  return {key_blocks, lower, std::clamp(multiprocessors / lower, 1, heads), causal};
}

}  // namespace lab
