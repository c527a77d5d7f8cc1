// lab order: a launch's blocks in the order in which a GPU starts them, how many keys each of them walks over, and what
// that makes the busiest multiprocessor do. The figures of v3h's and v3k's schedules are drawn from it.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <numeric>
#include <queue>
#include <set>
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

// When a block runs, in keys that its multiprocessor has walked over since the launch.
struct Span {
  long begin, end;
  unsigned head;
};

// Each block on the multiprocessor that is free first.
std::vector<Span> free_first(const std::vector<Ordered>& blocks) {
  std::priority_queue<long, std::vector<long>, std::greater<>> busy({},
                                                                    std::vector<long>(std::size_t(multiprocessors())));
  std::vector<Span> spans;
  for (const Ordered& block : blocks) {
    spans.push_back({busy.top(), busy.top() + block.keys, block.head});
    busy.pop(), busy.push(spans.back().end);
  }
  return spans;
}

// As many blocks as there are multiprocessors take the pieces in rounds (v3h).
std::vector<Span> in_rounds(const std::vector<Ordered>& pieces) {
  const auto blocks = std::min(unsigned(multiprocessors()), unsigned(pieces.size()));
  std::vector<Span> spans;
  for (unsigned block = 0; block < blocks; ++block) {
    long keys = 0;
    for (unsigned round = 0; round * blocks < pieces.size(); ++round)
      if (const unsigned i = to_and_fro(round, block, blocks); i < pieces.size()) {
        spans.push_back({keys, keys + pieces[i].keys, pieces[i].head});
        keys = spans.back().end;
      }
  }
  return spans;
}

long last_end(const std::vector<Span>& spans) { return std::ranges::max(spans, {}, &Span::end).end; }

// How many heads' K and V are being read at once: the mean over moments from 1 to 99 % of `keys`.
double heads_at_once(const std::vector<Span>& spans, double keys) {
  double sum = 0;
  for (int percent = 1; percent < 100; ++percent) {
    std::set<unsigned> heads;
    for (const Span& span : spans)
      if (double(span.begin) <= keys * percent / 100 && keys * percent / 100 < double(span.end))
        heads.insert(span.head);
    sum += double(heads.size());
  }
  return sum / 99;
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
  const std::vector<Span> first = free_first(blocks), rounds = in_rounds(blocks);
  const double mean = double(keys) / multiprocessors();
  std::printf("keys per multiprocessor: %.0f\nof the busiest, free one first: %ld\nof the busiest, to and fro: %ld\n",
              mean, last_end(first), last_end(rounds));
  std::printf("heads at once, free one first: %.1f\nheads at once, to and fro: %.1f\n", heads_at_once(first, mean),
              heads_at_once(rounds, mean));
  std::printf("\nblock\thead\ttile\tkeys\n");
  for (std::size_t i = 0; list && i < blocks.size(); ++i)
    std::printf("%zu\t%u\t%u\t%d\n", i, blocks[i].head, blocks[i].tile, blocks[i].keys);
  return 0;
}

}  // namespace lab
