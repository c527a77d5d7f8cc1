// runner KERNEL plan shape=B,H,S,D[,causal]: the kernels that a call launches, for what asks nvcc about them, and for the search. No
// block runs.
#include <cstdio>

#include "checks/acceptance/sampling.hpp"
#include "checks/bench/shapes.hpp"
#include "checks/runner/commands.hpp"

namespace lab {

int plan_command(std::span<char*> args) {
  constexpr std::string_view KEYS[] = {"shape"};
  const std::vector<Launched> launched = launches_of(subject(), one_shape(KeyValues(args, KEYS).require("shape")));
  for (const Launched& l : launched) {
    std::string kernel = kernel_name(l.kernel);
    std::erase(kernel, ' ');
    std::printf("kernel %s\ngrid %u,%u,%u\nblock %u,%u,%u\nsmem %zu\n", kernel.c_str(), l.grid.x, l.grid.y, l.grid.z,
                l.block.x, l.block.y, l.block.z, l.dynamic_smem);
  }
  return launched.empty() ? 1 : 0;
}

}  // namespace lab
