// lab counts: how often one block does what costs time, counted by the CPU execution: the figures that an exercise asks
// for before they are measured, and the bounds of those that ask for a kernel that does less.
#include "checks/exercises/counts.hpp"

#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "checks/acceptance/comparison.hpp"
#include "checks/acceptance/format.hpp"
#include "checks/bench/bench_samples.hpp"
#include "checks/bugs/trial.hpp"
#include "checks/runner/commands.hpp"
#include "common/stage.hpp"

namespace lab {

BlockCounts count_block(const Shape& shape, unsigned tile) {
  const LaunchPlan plan = stage().plan(shape);
  WordCounter counter;
  ExecOptions options;
  options.check = options.count = true, options.workers = 1, options.watcher = &counter;
  options.blocks = plan.blocks_of({tile}, shape);
  const Trial t = run_trial(shape, Family::unit, options);
  if (!t.ok()) return {{}, {}, "the launch fails: " + t.message};
  // Rows of other blocks must still hold the poison: what wrote them is no block of this launch.
  const std::vector<RowBlock> rows = written_rows(shape, t.out);
  if (rows.size() > 1 || (!rows.empty() && rows[0].rows > plan.tile_m))
    return {
        {},
        {},
        format("one block was launched: it wrote %zu stretches of rows, the first of %d", rows.size(), rows[0].rows)};
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
  const Shape shape = one_shape(words.require("shape"));
  if (!can_check()) throw BadInput("this binary is not instrumented");
  const BlockCounts counted = count_block(shape, unsigned(words.number("tile").value_or(0)));
  if (!counted.failure.empty()) {
    std::printf("%s\n", counted.failure.c_str());
    return 1;
  }
  print_counts(counted.counts, counted.dearest);
  return 0;
}

}  // namespace lab
