// A stage's target. stage.conf names one of these; a kernel must fit its target wherever it runs: an H200 has
// room for mistakes (227 KiB of shared memory per block) that an L4 refuses.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace lab {

struct Target {
  const char* name;
  int compute_capability;      // 10 * major + minor
  bool only_there;             // an architecture-specific target ("a"): its code runs on this capability and no other
  std::size_t smem_per_block;  // bytes that a block may ask for with the opt-in attribute
};

// CUDA C++ Programming Guide, "Compute Capabilities".
inline constexpr Target SM_89{"sm_89", 89, false, 101376};
inline constexpr Target SM_90A{"sm_90a", 90, true, 232448};
inline constexpr Target TARGETS[] = {SM_89, SM_90A};

// The target of that name, or null.
constexpr const Target* find_target(std::string_view name) {
  for (const Target& target : TARGETS)
    if (name == target.name) return &target;
  return nullptr;
}

// The stage.conf of the kernel at hand (checks/runner/library.hpp); sm_89 where there is none, as in the unit tests.
struct StageConf {
  std::string target;  // a Target's name
  std::string needs;   // words of common/gpu_fit.hpp, such as "wmma cp.async"
  std::size_t smem;    // bytes per block that the stage asks for at most
};
const StageConf& stage_conf();

// Its target.
inline const Target& stage_target() { return *find_target(stage_conf().target); }

// A block's shared memory without cudaFuncAttributeMaxDynamicSharedMemorySize, on every CUDA GPU.
inline constexpr std::size_t SMEM_WITHOUT_OPT_IN = 49152;

}  // namespace lab
