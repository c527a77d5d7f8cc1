// What the launchers of stages with tensor maps share. Such a kernel is attention(q, k, v, out, H, S, scale, causal)
// with maps in the place of the pointers that it only reads.
#pragma once
#include <cstdint>

#include "common/attention_launch.cuh"
#include "common/multiprocessors.hpp"
#include "common/tensor_map.hpp"

namespace lab {

// The columns that a swizzle of 128 bytes spans: a row of D halves lies in D / 64 slabs of [rows][64].
inline constexpr int SLAB = 64;

// The map of a [B, H, S, D] tensor by tiles of `rows` rows (at most 256) of one head, each a box [D / 64][rows][64] in
// shared memory, swizzled by 128 bytes, from (0, first row, 0, head of all batches' heads). A head is an index of its
// own, so rows from S on arrive as zeros and are not the next head's.
inline cudaError_t head_tiles_map(TensorMap& map, const half* base, const Shape& shape, int rows) {
  const std::uint64_t S = shape.S, D = shape.D, row = D * sizeof(half);
  TensorShape tensor;
  tensor.rank = 4;
  tensor.extent[0] = SLAB, tensor.stride[0] = sizeof(half), tensor.box[0] = SLAB;
  tensor.extent[1] = S, tensor.stride[1] = row, tensor.box[1] = rows;
  tensor.extent[2] = D / SLAB, tensor.stride[2] = SLAB * sizeof(half), tensor.box[2] = D / SLAB;
  tensor.extent[3] = std::uint64_t(shape.B) * shape.H, tensor.stride[3] = S * row, tensor.box[3] = 1;
  return make_tensor_map(map, base, tensor);
}

// The maps of a call's inputs: Q in boxes of the plan's tile_m rows, K and V of tile_n.
struct InputMaps {
  TensorMap q, k, v;
  cudaError_t make(const LaunchPlan& plan, const AttentionArgs& a) {
    if (const cudaError_t error = head_tiles_map(q, a.q, a.shape, plan.tile_m); error != cudaSuccess) return error;
    if (const cudaError_t error = head_tiles_map(k, a.k, a.shape, plan.tile_n); error != cudaSuccess) return error;
    return head_tiles_map(v, a.v, a.shape, plan.tile_n);
  }
};

// Lets such a kernel ask for its shared memory, makes its maps and calls launch(maps).
template <class Launch, class... Params>
cudaError_t with_maps(const NamedKernel<Params...>& kernel, const LaunchPlan& plan, const AttentionArgs& a,
                      Launch launch) {
  if (const cudaError_t error = opt_in_smem(kernel, plan); error != cudaSuccess) return error;
  InputMaps maps;
  if (const cudaError_t error = maps.make(plan, a); error != cudaSuccess) return error;
  return launch(maps);
}

// Launches such a kernel in a grid of its own; `heads` is what it takes in the place of H.
template <class... Params>
cudaError_t launch_with_maps(const NamedKernel<Params...>& kernel, const LaunchPlan& plan, const AttentionArgs& a,
                             dim3 grid, int heads) {
  return with_maps(kernel, plan, a, [&](const InputMaps& maps) {
    return launch(kernel.name.c_str(), kernel.function, grid, plan.block, plan.dynamic_smem, a.stream, maps.q, maps.k,
                  maps.v, a.out, heads, a.shape.S, a.scale, a.shape.causal);
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
// grid after the other: a block for each of the GPU's multiprocessors, where there is work for so many.
template <class... Params>
cudaError_t launch_persistent_tma(const NamedKernel<Params...>& kernel, const LaunchPlan& plan,
                                  const AttentionArgs& a) {
  const unsigned blocks = persistent_blocks(plan.grid.x * plan.grid.y * plan.grid.z);
  return launch_with_maps(kernel, plan, a, dim3(blocks), a.shape.B * a.shape.H);
}

}  // namespace lab
