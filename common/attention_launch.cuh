// Common to every stage's launcher: find the tile for a shape, fill in its plan, allow its shared memory, launch
// `attention`. A stage's kernel.cu ends by saying what is its own in a struct for each tile T:
//
//   static bool takes(const Shape&);                                        whether T is the tile for this shape
//   static LaunchPlan plan(const Shape&);                                   see tile_plan
//   static cudaError_t launch(const AttentionArgs&, const LaunchPlan&);     see opt_in_smem, launch_attention
//
// and by naming them: `return stage_of<Launcher<Tile<64, 2>>, ...>();`.
#pragma once
#include <string>

#include "common/launch.cuh"
#include "common/smem_plan.cuh"
#include "common/stage.hpp"
#include "common/tile.cuh"

namespace lab {

// A kernel, and how reports call it: "attention<64,2>".
template <class... Params>
struct NamedKernel {
  void (*function)(Params...);
  std::string name;
};

// NUMBERS are those in the kernel's own angle brackets.
template <int... NUMBERS, class... Params>
NamedKernel<Params...> named_kernel(void (*function)(Params...)) {
  return {function, attention_name({NUMBERS...})};
}

// The plan of a kernel whose blocks take T::M query rows of one head each, T::N keys at a time, in T::SLOTS slots.
// `dynamic_smem` is asked for at launch; `static_smem` is what the kernel declares as __shared__ arrays.
template <class T>
LaunchPlan tile_plan(const Shape& shape, int threads, const SmemCount& dynamic_smem,
                     const SmemCount& static_smem = {}) {
  return plan_of({T::M, T::N, T::ROWS_PER_WARP, T::SLOTS}, shape, threads, dynamic_smem, static_smem);
}

// Lets the kernel ask for the plan's dynamic shared memory: needed above 48 KiB. Refuses what the stage's target has
// not.
template <class... Params>
cudaError_t opt_in_smem(const NamedKernel<Params...>& kernel, const LaunchPlan& plan) {
  return opt_in_smem(kernel.name.c_str(), kernel.function, plan.dynamic_smem);
}

// Launches a kernel (q, k, v, out, H, S, scale, causal) as planned. One with other parameters, such as tensor maps,
// calls lab::launch with its own.
template <class... Params>
cudaError_t launch_attention(const NamedKernel<Params...>& kernel, const LaunchPlan& plan, const AttentionArgs& a) {
  const char* name = kernel.name.c_str();
  if (const cudaError_t error = check_budget(name, plan); error != cudaSuccess) return error;
  return launch(name, kernel.function, plan.grid, plan.block, plan.dynamic_smem, a.stream, a.q, a.k, a.v, a.out,
                a.shape.H, a.shape.S, a.scale, a.shape.causal);
}

// The stage made of these launchers: a shape goes to the first that takes it.
template <class... Launchers>
const StageInfo& stage_of() {
  static constexpr TileLauncher TILES[] = {{Launchers::takes, Launchers::plan, Launchers::launch}...};
  static const StageInfo info{stage_name(), [](const AttentionArgs& args) { return launch_by(TILES, args); },
                              [](const Shape& shape) { return plan_by(TILES, shape); }, int(sizeof...(Launchers))};
  return info;
}

}  // namespace lab
