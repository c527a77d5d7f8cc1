// plan of a backward stage.
#include <cstdio>

#include "checks/acceptance/format.hpp"
#include "checks/acceptance/launch.hpp"
#include "checks/bugs/gpu_child_process.hpp"
#include "checks/commands.hpp"

namespace lab {

// lab plan B H S D [causal]: each kernel that a call launches, by its address in this program, and the dynamic shared
// memory that it asks for. No block runs.
int backward_plan_command(std::span<char*> args) {
  std::string kernels;
  const std::vector<Launched> launched = launches_of(backward_subject(), once_words_of(args).shape);
  for (const Launched& l : launched)
    kernels += format("%s\n    {\"address\": \"%lx\", \"dynamic_smem\": %zu}", kernels.empty() ? "" : ",",
                      reinterpret_cast<unsigned long>(l.kernel), l.dynamic_smem);
  std::printf("{\n  \"stage\": \"%s\", \"bug\": \"%s\",\n  \"kernels\": [%s\n  ]\n}\n", stage_name(), planted_bug(),
              kernels.c_str());
  return launched.empty() ? 1 : 0;
}

}  // namespace lab
