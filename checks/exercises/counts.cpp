// runner KERNEL counts: how often one block does what costs time, counted by the CPU execution: the figures that an exercise asks
// for before they are measured, and the bounds of those that ask for a kernel that does less.
#include "checks/exercises/counts.hpp"

#include <cstdio>
#include <string>
#include <vector>

#include "checks/acceptance/comparison.hpp"
#include "checks/acceptance/format.hpp"
#include "checks/bench/shapes.hpp"
#include "checks/bugs/trial.hpp"
#include "checks/runner/commands.hpp"

namespace lab {

std::string count_block(const Shape& shape, unsigned tile, WordCounter& counter) {
  const LaunchPlan plan = plan_of(shape);
  ExecOptions options;
  options.check = options.count = true, options.workers = 1, options.watcher = &counter;
  options.blocks = {tile * plan.parts};
  const Trial t = run_trial(shape, Family::unit, options);
  if (!t.ok()) return "the launch fails: " + t.message;
  // Rows of other blocks must still hold the poison: what wrote them is no block of this launch.
  const std::vector<RowBlock> rows = written_rows(shape, t.out);
  if (rows.size() > 1 || (!rows.empty() && rows[0].rows > plan.tile_m))
    return format("one block was launched: it wrote %zu stretches of rows, the first of %d", rows.size(), rows[0].rows);
  counter.counts["shared-bytes"] = long(plan.smem);
  counter.counts["threads"] = long(plan.block.x * plan.block.y * plan.block.z);
  counter.counts["blocks"] = long(plan.grid.x * plan.grid.y * plan.grid.z) * long(plan.parts);
  counter.add(t.report);  // of a cluster's blocks together
  return "";
}

int counts_command(std::span<char*> args) {
  constexpr std::string_view KEYS[] = {"shape", "tile"};
  const KeyValues words(args, KEYS);
  const Shape shape = one_shape(words.require("shape"));
  if (!can_check()) throw BadInput("this binary is not instrumented");
  WordCounter counter;
  const std::string failure = count_block(shape, unsigned(words.number("tile").value_or(0)), counter);
  if (failure.empty()) return counter.print(), 0;
  std::printf("%s\n", failure.c_str());
  return 1;
}

}  // namespace lab
