// Whether a GPU can run a stage, decided from what both say of themselves: no GPU is asked here.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace lab {

// A GPU's description of itself: cudaDeviceProp's name, major, minor and sharedMemPerBlockOptin (bytes).
struct GpuProperties {
  std::string name;
  int major = 0, minor = 0;
  std::size_t smem_per_block = 0;
  bool has_code = true;  // this build holds code that it can run
};

// The requirements in a stage's stage.conf.
struct StageNeeds {
  std::string stage;     // its directory
  std::string target;    // a name in common/target.hpp
  std::string needs;     // words of FEATURES, separated by spaces
  std::size_t smem = 0;  // bytes per block, at most
};

// Possible needs beyond the smallest GPU that nvcc still builds for, and the compute capability that brings it
// (PTX ISA, "Target ISA Notes" of each instruction).
//
// cp.async: below 8.0 cuda_pipeline.h compiles its functions to plain copies. A kernel of this kind would then give the
// right answer, but not show what its stage is about; it counts as a need.
struct Feature {
  std::string_view word;
  int compute_capability;  // 10 * major + minor
  bool only_there;         // not on any later one
};
inline constexpr Feature FEATURES[] = {
    {"wmma", 70, false},     {"ldmatrix", 75, false}, {"mma", 80, false},  // mma: mma.sync.m16n8k16 on fp16
    {"cp.async", 80, false}, {"tma", 90, false},      {"wgmma", 90, true},
};

// "" if `gpu` can run `stage`, else one clause: "needs cp.async (compute capability 8.0) and 97888 B of shared memory
// per block; Tesla T4 has compute capability 7.5 and 65536 B". Throws BadInput for a target or a need that has no such
// name.
std::string why_not(const StageNeeds& stage, const GpuProperties& gpu);

// The whole line for a stage that cannot run: "skipped: v2b_single_warp " + why_not() + what to do. "" if it can run.
std::string skip_line(const StageNeeds& stage, const GpuProperties& gpu);

}  // namespace lab
