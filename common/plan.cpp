#include "common/plan.hpp"

#include "common/target.hpp"

namespace lab {

cudaError_t check_budget(const char* kernel_name, std::size_t smem) {
  const Target& target = stage_target();
  if (smem <= target.smem_per_block) return cudaSuccess;
  set_launch_message(std::string(kernel_name) + ": invalid configuration argument: asks for " + std::to_string(smem) +
                     " B of shared memory a block, the " + target.name + " budget allows " +
                     std::to_string(target.smem_per_block) + " B");
  return cudaErrorInvalidConfiguration;
}

}  // namespace lab
