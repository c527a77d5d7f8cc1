// Programmatic dependent launch: a kernel may start before the one before it in the stream has ended; sm_90. (PTX ISA,
// "griddepcontrol".) Asked for by LaunchExtras::overlaps_previous of common/launch.cuh.
//
//   Whatever the kernel before wrote may be read, and whatever it reads be written, only after grid_dependency_wait():
//   that returns when the kernel before has ended and its writes can be seen.
//
// On the CPU launches never overlap: a missing wait shows nowhere. The two are no more than calls at which others could
// run.
#pragma once
#include <cuda_runtime.h>

#ifndef __CUDACC__
namespace lab::cpu {
void grid_dependency();
}
#endif

namespace lab::ptx {

// griddepcontrol.wait: until the launches before have ended; at once if this one was launched without overlap.
__device__ __forceinline__ void grid_dependency_wait() {
#ifdef __CUDACC__
  asm volatile("griddepcontrol.wait;" : : : "memory");
#else
  cpu::grid_dependency();
#endif
}

// griddepcontrol.launch_dependents: once every block has called it or ended, the next kernel may start.
__device__ __forceinline__ void launch_dependents() {
#ifdef __CUDACC__
  asm volatile("griddepcontrol.launch_dependents;" : : : "memory");
#else
  cpu::grid_dependency();
#endif
}

}  // namespace lab::ptx
