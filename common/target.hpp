// The GPU that the lab budgets for. Kernels must fit it wherever they run: the H200 has room for mistakes
// (227 KiB of shared memory a block) that an L4 refuses.
#pragma once
#include <cstddef>

namespace lab {

struct Target {
  const char* name;
  std::size_t smem_per_block;  // bytes a block may ask for with the opt-in attribute
  int max_threads_per_block;
  int registers_per_thread;  // the lab's own limit, from the source notes
};

inline constexpr Target SM_89{"sm_89", 101376, 1024, 72};
inline constexpr Target BUDGET = SM_89;

// What a block gets without cudaFuncAttributeMaxDynamicSharedMemorySize, on every CUDA GPU.
inline constexpr std::size_t SMEM_WITHOUT_OPT_IN = 49152;

}  // namespace lab
