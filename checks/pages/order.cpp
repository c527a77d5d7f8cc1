// lab order: a launch's blocks in the order in which a GPU starts them, and how many keys each of them walks over. The
// figure of v3g's schedule is drawn from it.
#include <cstdio>
#include <numeric>
#include <string_view>
#include <vector>

#include "checks/acceptance/report.hpp"
#include "checks/bench/bench_samples.hpp"
#include "checks/commands.hpp"

namespace lab {

int order_command(std::span<char*> args) {
  constexpr std::string_view KEYS[] = {"shape"};
  const KeyValues words(args, KEYS);
  const std::vector<Shape> shapes = bench_shapes(words.require("shape"));
  if (shapes.size() != 1) throw BadInput("shape= names one shape, such as 1,1,512,64,causal");
  const Shape& shape = shapes[0];
  const LaunchPlan plan = stage().plan(shape);
  if (plan.parts > 1) throw BadInput("order: a query tile of this stage is shared by several blocks");
  const unsigned per_head = unsigned(shape.S + plan.tile_m - 1) / unsigned(plan.tile_m);
  const unsigned heads = unsigned(shape.B * shape.H);
  std::vector<unsigned> tile_of(std::size_t(per_head) * heads);  // of each block: which query tile, head after head
  for (unsigned tile = 0; tile < tile_of.size(); ++tile)
    tile_of.at(plan.block_of ? plan.block_of(tile, per_head, heads) : tile) = tile;

  std::printf("schema: order-1\nstage: %s\nshape: %s\nrows per block: %d\n\nblock\thead\ttile\tkeys\n", stage_name(),
              text(shape).c_str(), plan.tile_m);
  for (std::size_t block = 0; block < tile_of.size(); ++block) {
    const int tile = int(tile_of[block] % per_head);
    const int keys = shape.causal ? std::min(shape.S, (tile + 1) * plan.tile_m) : shape.S;
    std::printf("%zu\t%u\t%d\t%d\n", block, tile_of[block] / per_head, tile, keys);
  }
  return 0;
}

}  // namespace lab
