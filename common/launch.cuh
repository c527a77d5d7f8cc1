// Launching a kernel: one checked way, the same on both backends. nvcc's <<<>>> cannot be spelt for g++, and an
// unchecked launch can fail in silence.
#pragma once
#include <cuda_runtime.h>

#include <cstddef>
#include <string>

#include "common/plan.hpp"
#ifdef __CUDACC__
#include "common/backend.hpp"
#else
#include "common/emulator/launch.hpp"
#endif

namespace lab {

// Lets `kernel` ask for `bytes` of dynamic shared memory, within the budget. Needed above 48 KiB.
template <class Kernel>
cudaError_t opt_in_smem(const char* kernel_name, Kernel* kernel, std::size_t bytes) {
  if (const cudaError_t error = check_budget(kernel_name, bytes); error != cudaSuccess) return error;
  return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(bytes));
}

// A launch's options beside its shape.
struct LaunchExtras {
  dim3 cluster = {1, 1, 1};  // blocks that run together; sm_90, 8 at most, 16 after opt_in_large_clusters
  // Programmatic dependent launch: may start before the kernel before it in the stream has ended
  // (common/ptx/grid_dependency.cuh). On the CPU launches never overlap; the checker reports what comes too early.
  bool overlaps_previous = false;
};

template <class Kernel>
cudaError_t opt_in_large_clusters(Kernel* kernel) {
  return cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
}

// Queues kernel<<<grid, block, smem, stream>>>(args...). Returns the error of this launch, which cudaGetLastError() after
// a <<<>>> might not be: an earlier one's may still stand there. An error from CUDA itself is also left in
// cudaGetLastError(); a refusal by the lab's budget is not.
template <class... Params, class... Args>
cudaError_t launch_with(const LaunchExtras& extras, const char* kernel_name, void (*kernel)(Params...), dim3 grid,
                        dim3 block, std::size_t smem, cudaStream_t stream, Args... args) {
  if (const cudaError_t error = check_budget(kernel_name, smem); error != cudaSuccess) return error;
#ifdef __CUDACC__
  cudaLaunchAttribute attributes[2] = {};
  unsigned count = 0;
  if (const dim3 c = extras.cluster; c.x != 1 || c.y != 1 || c.z != 1) {
    attributes[count].id = cudaLaunchAttributeClusterDimension;
    attributes[count].val.clusterDim.x = c.x, attributes[count].val.clusterDim.y = c.y;
    attributes[count++].val.clusterDim.z = c.z;
  }
  if (extras.overlaps_previous) {
    attributes[count].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[count++].val.programmaticStreamSerializationAllowed = 1;
  }
  cudaLaunchConfig_t config = {};
  config.gridDim = grid, config.blockDim = block, config.dynamicSmemBytes = smem, config.stream = stream;
  config.attrs = attributes, config.numAttrs = count;
  return cudaLaunchKernelEx(&config, kernel, static_cast<Params>(args)...);  // common/gpu/launches.cpp says why not
#else
  cpu::count_launch(stream);
  return cpu::launch({kernel_name,
                      reinterpret_cast<const void*>(kernel),
                      grid,
                      block,
                      smem,
                      extras.cluster,
                      extras.overlaps_previous,
                      stream,
                      {cpu::pointer_or_null(args)...}},
                     [=] { kernel(static_cast<Params>(args)...); });
#endif
}

// The same without extras.
template <class... Params, class... Args>
cudaError_t launch(const char* kernel_name, void (*kernel)(Params...), dim3 grid, dim3 block, std::size_t smem,
                   cudaStream_t stream, Args... args) {
  return launch_with({}, kernel_name, kernel, grid, block, smem, stream, args...);
}

}  // namespace lab
