// Which query tile of which head a block takes, where blocks differ in length and so their order matters. A GPU starts
// blocks in the order of their index: x fastest, then y, then z.
#pragma once
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>

#include "common/shape.hpp"
#include "common/tile.cuh"

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

// --- which of a stage's tiles a shape gets, where they differ in their number of warpgroups that multiply, 64 query rows each:
// the one that gives the busiest SM the least work --------------------------------------------------------------------------

// The work of the busiest SM, in rows of 64 queries with all keys, times what such a row costs in a block of `groups`.
// A grid is worked off in waves of `sms` blocks, as many as there are SMs. Under a mask half of the work is left, but the
// longest block has it all.
inline double work_per_sm(const Shape& shape, int groups, double cost, int sms) {
  const double waves = double(ceil_div(shape.S, 64 * groups)) * shape.H * shape.B / sms;
  return groups * ((shape.causal ? std::max(waves / 2, 1.0) : std::ceil(waves)) * cost);
}

// The number of groups, 1 .. most, with the least work(groups); of equals the smaller.
template <class Work>
int least_groups(int most, const Work& work) {
  int best = 1;
  double least = work(1);
  for (int groups = 2; groups <= most; ++groups)
    if (const double its = work(groups); its < least) least = its, best = groups;
  return best;
}

// The number of groups, 1 .. most, for this shape. cost[i]: what a row of 64 queries costs in a block of i groups.
inline int best_groups(const Shape& shape, const double* cost, int most, int sms) {
  return least_groups(most, [&](int groups) { return work_per_sm(shape, groups, cost[groups], sms); });
}

// The same, counted block by block: the work of the block that has the most, in keys of 64 query rows. Query tiles go
// to and fro, the longest of all heads first; each costs the keys that its last row sees, times `cost` for its groups'
// rows, and START for its beginning and end. (Fitted to v3j and v3k with 1 to 4 groups on 160 shapes:
// writeups/results/h100-choice.tsv.)
inline double work_of_busiest(const Shape& shape, int groups, double cost, int sms) {
  constexpr double START = 256;
  const int rows = 64 * groups, heads = shape.B * shape.H, per_head = ceil_div(shape.S, rows);
  const unsigned tiles = unsigned(per_head) * unsigned(heads), blocks = std::min(unsigned(sms), tiles);
  double most = 0;
  for (unsigned block = 0; block < blocks; ++block) {
    double work = 0;
    for (unsigned wave = 0, i; (i = to_and_fro(wave, block, blocks)) < tiles; ++wave) {
      const int end = (longest_first(i, unsigned(per_head), unsigned(heads)).tile + 1) * rows;
      work += groups * cost * (shape.causal ? std::min(shape.S, end) : shape.S) + START;
    }
    most = std::max(most, work);
  }
  return most;
}

// The number of groups, 1 .. most, whose busiest block has the least to do. A program launches one shape many times: the
// last answer is kept.
inline int counted_groups(const Shape& shape, const double* cost, int most, int sms) {
  struct Asked {
    Shape shape;
    const double* cost;
    int most, sms;
    bool operator==(const Asked&) const = default;
  };
  thread_local Asked last{};
  thread_local int best = 0;
  if (const Asked now{shape, cost, most, sms}; best == 0 || !(last == now)) {
    best = least_groups(most, [&](int groups) { return work_of_busiest(shape, groups, cost[groups], sms); });
    last = now;
  }
  return best;
}

}  // namespace lab
