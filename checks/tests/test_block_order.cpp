// The order of a stage's blocks, and how many of them: even shares, and the least work. That each query tile is taken once is for the
// acceptance to find.
#include <doctest/doctest.h>

#include <algorithm>

#include "common/block_order.hpp"

TEST_CASE("blocks that stay have even shares of a causal problem, in the order that its heads ask for") {
  constexpr unsigned SMS = 132;
  const auto share = [](unsigned tiles, unsigned heads, bool over_all_heads) {  // the mean's of the busiest SM's work
    double all = 0, busiest = 0;
    for (unsigned block = 0; block < SMS; ++block) {
      double keys = 0;
      for (unsigned round = 0;; ++round) {
        const unsigned i = lab::to_and_fro(round, block, SMS);
        if (i >= tiles * heads) break;
        keys += lab::work_of(i, tiles, heads, over_all_heads).tile + 1;
      }
      all += keys, busiest = std::max(busiest, keys);
    }
    return all / SMS / busiest;
  };
  for (const unsigned tiles : {32u, 64u, 128u})
    for (const unsigned heads : {8u, 16u, 24u, 32u, 64u, 128u}) {
      CAPTURE(tiles);
      CAPTURE(heads);
      CHECK(share(tiles, heads, lab::over_all_heads(true, 1, 128, int(heads), 0)) > 0.95);
      if (heads < lab::MANY_HEADS) CHECK(share(tiles, heads, false) < 0.8);  // what the rule is for
    }
}

TEST_CASE("work_of_busiest is what the block with the most keys has to do") {
  // Two query tiles of 128 rows in each of 132 heads: every block has a head's long one, and then its short one.
  CHECK(lab::work_of_busiest({1, 132, 256, 64, true}, 2, 1.5, 132) == 2 * 1.5 * (256 + 128) + 2 * 256);
  CHECK(lab::work_of_busiest({1, 132, 256, 64, false}, 2, 1.5, 132) == 2 * 1.5 * (256 + 256) + 2 * 256);
  // 133 tiles: the first block to take a second one decides, whatever the others do.
  CHECK(lab::work_of_busiest({1, 133, 64, 64, false}, 1, 1, 132) == 2 * 64 + 2 * 256);
  // (4,16,8192,64) causal: `runner KERNEL order` prints 106112 keys, head by head; over all heads the shares are even.
  CHECK(lab::work_of_busiest({4, 16, 8192, 64, true}, 3, 1, 132) < 3 * 92000.0 + 21 * 256);
}

TEST_CASE("counted_groups takes the least work, and forgets a shape for the next one") {
  constexpr double COST[] = {0, 1.3, 1.15, 1.0, 1.0};
  const lab::Shape shapes[] = {{1, 8, 512, 64, false},
                               {2, 8, 2048, 64, false},
                               {2, 8, 2048, 64, true},
                               {4, 16, 8192, 64, false},
                               {16, 8, 128, 64, true}};
  for (int again = 0; again < 2; ++again)
    for (const lab::Shape& shape : shapes) {
      int least = 1;
      for (int groups = 2; groups <= 4; ++groups)
        if (lab::work_of_busiest(shape, groups, COST[groups], 132) <
            lab::work_of_busiest(shape, least, COST[least], 132))
          least = groups;
      CHECK(lab::counted_groups(shape, COST, 4, 132) == least);
    }
  CHECK(lab::counted_groups({1, 8, 512, 64, false}, COST, 4, 132) == 1);  // one consumer: 64 blocks, and not 32
  constexpr double CHEAP_THREE[] = {0, 9, 9, 0.1, 9};  // the same shape with other costs is another question
  CHECK(lab::counted_groups({1, 8, 512, 64, false}, CHEAP_THREE, 4, 132) == 3);
  CHECK(lab::counted_groups({16, 8, 128, 64, true}, COST, 4, 132) == 2);  // measured on an H100: 5.0 us, with one 5.8
}
