// Common to the launchers of stages with tensor maps. Such a kernel is attention(q, k, v, out, H, S, scale, causal)
// with maps in the place of the pointers that it only reads.
#pragma once
#include "common/attention_launch.cuh"
#include "common/input_maps.hpp"
#include "common/multiprocessors.hpp"

namespace lab {

// Lets such a kernel ask for its shared memory, makes its maps and calls launch(maps).
template <class Launch, class... Params>
cudaError_t with_maps(const NamedKernel<Params...>& kernel, const LaunchPlan& plan, const AttentionArgs& a,
                      Launch launch) {
  if (const cudaError_t error = opt_in_smem(kernel, plan); error != cudaSuccess) return error;
  InputMaps maps;
  if (const cudaError_t error = maps.make(plan, a); error != cudaSuccess) return error;
  return launch(maps);
}

// Launches such a kernel in a grid of its own; `heads` is what it takes instead of H, `more` what it takes at the end.
template <class... Params, class... More>
cudaError_t launch_with_maps(const NamedKernel<Params...>& kernel, const LaunchPlan& plan, const AttentionArgs& a,
                             dim3 grid, int heads, More... more) {
  return with_maps(kernel, plan, a, [&](const InputMaps& maps) {
    return launch(kernel.name.c_str(), kernel.function, grid, plan.block, plan.dynamic_smem, a.stream, maps.q, maps.k,
                  maps.v, a.out, heads, a.shape.S, a.scale, a.shape.causal, more...);
  });
}

// Launches such a kernel as planned.
template <class... Params>
cudaError_t launch_attention_tma(const NamedKernel<Params...>& kernel, const LaunchPlan& plan, const AttentionArgs& a) {
  return launch_with_maps(kernel, plan, a, plan.grid, a.shape.H);
}

// The same of a kernel whose query tiles are each shared by a cluster, plan.parts blocks along x.
template <class... Params>
cudaError_t launch_clusters_tma(const NamedKernel<Params...>& kernel, const LaunchPlan& plan, const AttentionArgs& a,
                                bool overlaps_previous = false) {
  const LaunchExtras extras{dim3(plan.parts), overlaps_previous};
  const dim3 grid(plan.grid.x * plan.parts, plan.grid.y, plan.grid.z);
  return with_maps(kernel, plan, a, [&](const InputMaps& maps) {
    return launch_with(extras, kernel.name.c_str(), kernel.function, grid, plan.block, plan.dynamic_smem, a.stream,
                       maps.q, maps.k, maps.v, a.out, a.shape.H, a.shape.S, a.scale, a.shape.causal);
  });
}

// The same of a kernel (q, k, v, out, heads of all batches, S, scale, causal) whose blocks take one piece of the plan's
// grid after the other: a block for each of the GPU's multiprocessors, but no more than there are pieces.
template <class... Params, class... More>
cudaError_t launch_persistent_tma(const NamedKernel<Params...>& kernel, const LaunchPlan& plan, const AttentionArgs& a,
                                  More... more) {
  const unsigned blocks = persistent_blocks(plan.grid.x * plan.grid.y * plan.grid.z);
  return launch_with_maps(kernel, plan, a, dim3(blocks), a.shape.B * a.shape.H, more...);
}

}  // namespace lab
