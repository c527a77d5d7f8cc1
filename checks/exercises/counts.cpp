// lab counts: how often one block does what costs time, counted by the CPU execution: the figures that an exercise asks
// for before they are measured, and the bounds of those that ask for a kernel that does less.
#include "checks/exercises/counts.hpp"

#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "checks/acceptance/report.hpp"
#include "checks/bench/bench_samples.hpp"
#include "checks/bugs/trial.hpp"
#include "checks/commands.hpp"
#include "checks/exercises/counted_words.hpp"

namespace lab {
namespace {

// Rows of other blocks must still hold the poison: what wrote them is no block of this launch.
std::string written_elsewhere(const Trial& t, unsigned tile) {
  const int per_head = (t.shape.S + t.plan.tile_m - 1) / t.plan.tile_m;
  const std::size_t head = tile / unsigned(per_head), first = tile % unsigned(per_head) * unsigned(t.plan.tile_m);
  for (std::size_t i = 0; i < t.out.size(); ++i) {
    const std::size_t row = i / std::size_t(t.shape.D), in_head = row % std::size_t(t.shape.S);
    const bool own =
        row / std::size_t(t.shape.S) == head && in_head >= first && in_head < first + unsigned(t.plan.tile_m);
    if (!own && t.out[i] != FP16_NAN)
      return format(
          "one block was launched, and row %zu of head %zu, which belongs to another block, was written all the same",
          in_head, row / std::size_t(t.shape.S));
  }
  return "";
}

}  // namespace

BlockCounts count_block(const Shape& shape, unsigned tile) {
  const LaunchPlan plan = stage().plan(shape);
  WordCounter counter;
  ExecOptions options;
  options.check = options.count = true, options.workers = 1, options.watcher = &counter;
  options.blocks = plan.blocks_of({tile}, shape);
  const Trial t = run_trial(shape, Family::unit, options);
  if (!t.ok()) return {{}, {}, "the launch fails: " + t.message};
  if (const std::string stray = written_elsewhere(t, tile); !stray.empty()) return {{}, {}, stray};
  counter.counts["shared-bytes"] = long(plan.smem());
  counter.counts["threads"] = long(plan.block.x * plan.block.y * plan.block.z);
  counter.counts["blocks"] = long(plan.grid.x * plan.grid.y * plan.grid.z) * long(plan.parts);
  BlockCounts counted;
  counter.add(t.report);  // of a cluster's blocks together
  counted.dearest = dearest_lines(t.report);
  counted.counts = counter.counts;
  return counted;
}

int counts_command(std::span<char*> args) {
  constexpr std::string_view KEYS[] = {"shape", "tile"};
  const KeyValues words(args, KEYS);
  const std::vector<Shape> shapes = bench_shapes(words.require("shape"));
  if (shapes.size() != 1) throw BadInput("shape=: one shape is asked for");
  if (!can_check()) throw BadInput("this binary is not instrumented");
  const BlockCounts counted = count_block(shapes[0], unsigned(words.number("tile").value_or(0)));
  if (!counted.failure.empty()) {
    std::printf("%s\n", counted.failure.c_str());
    return 1;
  }
  print_counts(counted.counts, counted.dearest);
  return 0;
}

}  // namespace lab
