// The order of a stage's blocks: whatever it is, each query tile of each head is somebody's, once.
#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "common/block_order.cuh"

TEST_CASE("longest_first gives every tile of every head once, the last tiles first") {
  for (const unsigned tiles : {1u, 2u, 7u, 32u})
    for (const unsigned heads : {1u, 3u, 16u}) {
      std::vector<int> times(tiles * heads, 0);
      int last_tile = int(tiles);
      for (unsigned i = 0; i < tiles * heads; ++i) {
        const lab::BlockWork work = lab::longest_first(i, tiles, heads);
        REQUIRE(work.tile >= 0);
        REQUIRE(work.tile < int(tiles));
        REQUIRE(work.head >= 0);
        REQUIRE(work.head < int(heads));
        CHECK(work.tile <= last_tile);
        last_tile = work.tile;
        ++times[unsigned(work.head) * tiles + unsigned(work.tile)];
      }
      CHECK(std::count(times.begin(), times.end(), 1) == long(times.size()));
      for (unsigned tile = 0; tile < tiles * heads; ++tile) {
        const lab::BlockWork work = lab::longest_first(lab::block_over_all_heads(tile, tiles, heads), tiles, heads);
        CHECK(unsigned(work.head) * tiles + unsigned(work.tile) == tile);
        CHECK(lab::block_head_by_head(lab::block_head_by_head(tile, tiles, heads), tiles, heads) == tile);
      }
    }
}
