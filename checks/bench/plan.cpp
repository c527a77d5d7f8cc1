// runner KERNEL plan shape=B,H,S,D[,causal]: how a stage launches a shape, for what asks nvcc about it, and for the search.
#include <cstdio>

#include "checks/acceptance/launch.hpp"
#include "checks/bench/shapes.hpp"
#include "checks/runner/commands.hpp"
#include "common/target.hpp"

namespace lab {

static Shape shape_word_of(std::span<char*> args) {
  constexpr std::string_view keys[] = {"shape"};
  return one_shape(KeyValues(args, keys).require("shape"));
}

int plan_command(std::span<char*> args) {
  const LaunchPlan plan = plan_of(shape_word_of(args));
  std::printf("kernel %s\ngrid %u,%u,%u\nblock %u,%u,%u\nsmem %zu\n", plan.kernel.c_str(), plan.grid.x, plan.grid.y,
              plan.grid.z, plan.block.x, plan.block.y, plan.block.z, plan.smem);
  return 0;
}

// Of a backward stage: each kernel that a call launches, by its address in the library, and the dynamic shared memory that it asks
// for. No block runs.
int backward_plan_command(std::span<char*> args) {
  const std::vector<Launched> launched = launches_of(subject(), shape_word_of(args));
  for (const Launched& l : launched) std::printf("%zx %zu\n", offset_in_library(l.kernel), l.dynamic_smem);
  return launched.empty() ? 1 : 0;
}

}  // namespace lab
