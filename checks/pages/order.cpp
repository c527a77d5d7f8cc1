// lab order: a launch's blocks in the order in which a GPU starts them, how many keys each of them walks over, and what
// that makes the busiest multiprocessor do. The figure of v3h's schedule is drawn from it.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <numeric>
#include <queue>
#include <string_view>
#include <vector>

#include "checks/acceptance/report.hpp"
#include "checks/bench/bench_samples.hpp"
#include "checks/commands.hpp"
#include "common/block_order.hpp"
#include "common/multiprocessors.hpp"

namespace lab {
namespace {

struct Ordered {
  unsigned head = 0, tile = 0;
  int keys = 0;
};

// Keys of the busiest multiprocessor if each block goes to the one that is free first.
long free_first(const std::vector<Ordered>& blocks) {
  std::priority_queue<long, std::vector<long>, std::greater<>> busy({},
                                                                    std::vector<long>(std::size_t(multiprocessors())));
  long last = 0;
  for (const Ordered& block : blocks) {
    const long end = busy.top() + block.keys;
    busy.pop(), busy.push(end);
    last = std::max(last, end);
  }
  return last;
}

// The same if as many blocks as there are multiprocessors take the pieces in rounds (v3h).
long in_rounds(const std::vector<Ordered>& pieces) {
  const auto blocks = std::min(unsigned(multiprocessors()), unsigned(pieces.size()));
  long most = 0;
  for (unsigned block = 0; block < blocks; ++block) {
    long keys = 0;
    for (unsigned round = 0; round * blocks < pieces.size(); ++round)
      if (const unsigned i = to_and_fro(round, block, blocks); i < pieces.size()) keys += pieces[i].keys;
    most = std::max(most, keys);
  }
  return most;
}

}  // namespace

int order_command(std::span<char*> args) {
  constexpr std::string_view KEYS[] = {"shape", "list"};
  const KeyValues words(args, KEYS);
  const Shape shape = one_shape(words.require("shape"));
  const bool list = !words.get("list") || words.flag("list");
  const LaunchPlan plan = stage().plan(shape);
  if (plan.parts > 1) throw BadInput("order: a query tile of this stage is shared by several blocks");
  const unsigned per_head = unsigned(shape.S + plan.tile_m - 1) / unsigned(plan.tile_m);
  const unsigned heads = unsigned(shape.B * shape.H);
  std::vector<Ordered> blocks(std::size_t(per_head) * heads);
  for (unsigned tile = 0; tile < blocks.size(); ++tile) {  // of all heads, one after the other
    const int first_row = int(tile % per_head) * plan.tile_m;
    blocks.at(plan.block_of ? plan.block_of(tile, per_head, heads) : tile) = {
        tile / per_head, tile % per_head, shape.causal ? std::min(shape.S, first_row + plan.tile_m) : shape.S};
  }
  const long keys = std::accumulate(blocks.begin(), blocks.end(), 0L, [](long sum, auto& b) { return sum + b.keys; });

  std::printf("schema: order-1\nstage: %s\nshape: %s\nrows per block: %d\nmultiprocessors: %d\n", stage_name(),
              text(shape).c_str(), plan.tile_m, multiprocessors());
  std::printf("keys per multiprocessor: %.0f\nof the busiest, free one first: %ld\nof the busiest, to and fro: %ld\n",
              double(keys) / multiprocessors(), free_first(blocks), in_rounds(blocks));
  std::printf("\nblock\thead\ttile\tkeys\n");
  for (std::size_t i = 0; list && i < blocks.size(); ++i)
    std::printf("%zu\t%u\t%u\t%d\n", i, blocks[i].head, blocks[i].tile, blocks[i].keys);
  return 0;
}

}  // namespace lab
