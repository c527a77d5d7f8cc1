// What every stage's launcher does alike: find the tile for a shape, fill in its plan, allow its shared memory, launch
// `attention`. A stage's kernel.cu ends by saying what is its own in a struct for each tile T:
//
//   static bool takes(const Shape&);                                        whether T is the tile for this shape
//   static LaunchPlan plan(const Shape&);                                   see tile_plan
//   static cudaError_t launch(const AttentionArgs&, const LaunchPlan&);     see opt_in_smem, launch_attention
//
// and by naming them: `return stage_of<Launcher<Tile<64, 2>>, ...>();`.
#pragma once
#include <stdexcept>
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
  std::string name = "attention<";
  ((name += std::to_string(NUMBERS), name += ','), ...);
  name.back() = '>';
  return {function, name};
}

// The plan of a kernel whose blocks take T::M query rows of one head each, T::N keys at a time, in T::SLOTS slots.
// `dynamic_smem` is asked for at launch; `static_smem` is what the kernel declares as __shared__ arrays.
template <class T>
LaunchPlan tile_plan(const Shape& shape, int threads, const SmemCount& dynamic_smem,
                     const SmemCount& static_smem = {}) {
  LaunchPlan plan;
  plan.tile_m = T::M, plan.tile_n = T::N, plan.rows_per_warp = T::ROWS_PER_WARP, plan.slots = T::SLOTS;
  plan.grid = dim3(ceil_div(shape.S, T::M), shape.H, shape.B);
  plan.block = dim3(threads);
  plan.static_smem = static_smem.bytes, plan.dynamic_smem = dynamic_smem.bytes;
  plan.arrays = static_smem.arrays;
  plan.arrays.insert(plan.arrays.end(), dynamic_smem.arrays.begin(), dynamic_smem.arrays.end());
  return plan;
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
  if (const cudaError_t error = check_budget(name, plan.smem()); error != cudaSuccess) return error;
  if (plan.static_smem > SMEM_WITHOUT_OPT_IN) {
    set_launch_message(kernel.name + ": static shared memory ends at " + std::to_string(SMEM_WITHOUT_OPT_IN) + " B");
    return cudaErrorInvalidConfiguration;
  }
  return launch(name, kernel.function, plan.grid, plan.block, plan.dynamic_smem, a.stream, a.q, a.k, a.v, a.out,
                a.shape.H, a.shape.S, a.scale, a.shape.causal);
}

// The stage made of these launchers: a shape goes to the first that takes it.
template <class... Launchers>
const StageInfo& stage_of() {
  static const StageInfo info{
      stage_name(),
      [](const AttentionArgs& args) {
        cudaError_t error = cudaErrorInvalidValue;
        const bool taken =
            ((Launchers::takes(args.shape) && (error = Launchers::launch(args, Launchers::plan(args.shape)), true)) ||
             ...);
        if (!taken)
          set_launch_message(std::string(stage_name()) + " has no tile for D = " + std::to_string(args.shape.D));
        return error;
      },
      [](const Shape& shape) {
        LaunchPlan plan;
        const bool taken = ((Launchers::takes(shape) && (plan = Launchers::plan(shape), true)) || ...);
        if (!taken)
          throw std::invalid_argument(std::string(stage_name()) + " has no tile for D = " + std::to_string(shape.D));
        return plan;
      }};
  return info;
}

}  // namespace lab
