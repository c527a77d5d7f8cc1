// The GPUs that stages are built for; a stage's stage.conf names its own. A kernel must fit its target wherever it
// runs: the H200 has room for mistakes (227 KiB of shared memory a block) that an L4 refuses.
#pragma once
#include <cstddef>

namespace lab {

struct Target {
  const char* name;
  std::size_t smem_per_block;  // bytes a block may ask for with the opt-in attribute
};

inline constexpr Target TARGETS[] = {{"sm_89", 101376}, {"sm_90a", 232448}};

// The target of the stage that this binary was linked with. Defined in common/build_info.cpp.
const Target& stage_target();

// What a block gets without cudaFuncAttributeMaxDynamicSharedMemorySize, on every CUDA GPU.
inline constexpr std::size_t SMEM_WITHOUT_OPT_IN = 49152;

}  // namespace lab
