// Programmatic dependent launch: a kernel may start before the one before it in the stream has ended; sm_90. (PTX ISA,
// "griddepcontrol".) Such a kernel is started by start_early().
//
//   Whatever the kernel before wrote may be read, and whatever it reads be written, only after grid_dependency_wait():
//   that returns when the kernel before has ended and its writes can be seen.
//   Nor may it be read through a `const __restrict__` pointer. nvcc reads such data by ld.global.nc, from a cache that
//   is not coherent, for data that is "read-only for the entire lifetime of the kernel" (CUDA guide, "__ldg"). This
//   kernel's lifetime begins while the one before still writes.
//
// On the CPU launches never overlap. There the checker reports each access to global memory, by a load, a store or a
// copy, in a block of a launch that may overlap before a thread of the block has passed the wait. Parameters, tensor
// maps among them, are the launch's own.
#pragma once
#include <cuda_runtime.h>

namespace lab::ptx {

// griddepcontrol.wait: until the launches before have ended; at once if this one was launched without overlap.
__device__ __forceinline__ void grid_dependency_wait() { asm volatile("griddepcontrol.wait;" : : : "memory"); }

// griddepcontrol.launch_dependents: once every block has called it or ended, the next kernel may start.
__device__ __forceinline__ void launch_dependents() {
  asm volatile("griddepcontrol.launch_dependents;" : : : "memory");
}

}  // namespace lab::ptx

namespace lab {

// <<<grid, threads, bytes, stream>>> of a kernel that may run before the one before it has ended.
template <auto kernel, class... Arguments>
cudaError_t start_early(dim3 grid, int threads, int bytes, cudaStream_t stream, Arguments... arguments) {
  cudaLaunchAttribute early{cudaLaunchAttributeProgrammaticStreamSerialization, {}};
  early.val.programmaticStreamSerializationAllowed = 1;
  const cudaLaunchConfig_t config{grid, dim3(threads), std::size_t(bytes), stream, &early, 1};
  return cudaLaunchKernelEx(&config, kernel, arguments...);
}

}  // namespace lab
