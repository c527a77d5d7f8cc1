// plan: how a stage launches a shape, for what asks nvcc about it.
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "checks/acceptance/format.hpp"
#include "checks/acceptance/launch.hpp"
#include "checks/bugs/gpu_child_process.hpp"
#include "checks/runner/commands.hpp"
#include "common/target.hpp"

namespace lab {

static std::string plan_text(const Shape& shape, const LaunchPlan& plan) {
  const auto triple = [](dim3 d) { return format("%u,%u,%u", d.x, d.y, d.z); };
  return (plan.kernel.empty() ? "" : "kernel " + plan.kernel + "\n") +
         format("D %d\ntile_m %d\ntile_n %d\nrows_per_warp %d\nslots %d\nparts %u\ngrid %s\nblock %s\n", shape.D,
                plan.tile_m, plan.tile_n, plan.rows_per_warp, plan.slots, plan.parts, triple(plan.grid).c_str(),
                triple(plan.block).c_str()) +
         format("smem %zu\n", plan.smem);
}

// plan B H S D [causal]
int plan_command(std::span<char*> args) {
  const bool causal = args.size() == 5 && std::string_view(args[4]) == "causal";
  if (args.size() != 4 && !causal) throw BadInput("usage: plan B H S D [causal]");
  int extents[4];
  for (int i = 0; i < 4; ++i) {
    char* end = nullptr;
    const long value = std::strtol(args[std::size_t(i)], &end, 10);
    if (*end != '\0' || end == args[std::size_t(i)] || value < 1 || value > (1 << 24))
      throw BadInput(format("%c=%s: must be a whole number from 1 to 2^24", "BHSD"[i], args[std::size_t(i)]));
    extents[i] = int(value);
  }
  const Shape shape{extents[0], extents[1], extents[2], extents[3], causal};
  if (shape.D != 64 && shape.D != 128)
    throw BadInput(format("D=%d: the stages take head dimensions 64 and 128", shape.D));
  std::fputs(plan_text(shape, plan_of(shape)).c_str(), stdout);
  return 0;
}

// plan B H S D [causal] of a backward stage: each kernel that a call launches, by its address in the library, and the dynamic shared
// memory that it asks for. No block runs.
int backward_plan_command(std::span<char*> args) {
  const std::vector<Launched> launched = launches_of(subject(), once_words_of(args).shape);
  for (const Launched& l : launched) std::printf("%zx %zu\n", offset_in_library(l.kernel), l.dynamic_smem);
  return launched.empty() ? 1 : 0;
}

}  // namespace lab
