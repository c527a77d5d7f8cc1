// Executing one kernel launch on the CPU.
#pragma once
#include <cuda_runtime.h>

#include <cstdint>
#include <functional>
#include <type_traits>
#include <vector>

namespace lab {
struct Launched;
}
namespace lab::cpu {

struct LaunchConfig {
  const char* name;    // for reports: "v2b_single_warp<64>"
  const void* kernel;  // identifies the kernel: attributes belong to it
  dim3 grid, block;
  std::size_t smem;                         // dynamic shared memory, bytes
  dim3 cluster = {1, 1, 1};                 // blocks that run together
  bool overlaps_previous = false;           // may start before the launch before it has ended: the checker's rule alone
  cudaStream_t stream = nullptr;            // for the report
  std::vector<const void*> arguments = {};  // null for one that is no pointer
};

template <class T>
const void* pointer_or_null([[maybe_unused]] const T& argument) {
  if constexpr (std::is_pointer_v<T> && !std::is_function_v<std::remove_pointer_t<T>>)
    return argument;
  else
    return nullptr;
}

// Runs `thread` once for every CUDA thread of the grid, or of the sample in ExecOptions::blocks: of a launch with
// clusters, every cluster with a block in the sample, as a whole. Refuses what CUDA
// refuses (the code is returned and left for cudaGetLastError); an error inside the kernel stops the launch and is
// left for the next synchronisation. Both leave one line in the ExecReport.
cudaError_t launch(const LaunchConfig& config, const std::function<void()>& thread);

// Launches run at once, whatever their stream. Those of the report that is not taken yet.
const std::vector<Launched>& launched();

// Errors between a launch and whoever asks: CUDA's sticky last error, and those inside a kernel.
void set_last_error(cudaError_t error);
void set_async_error(cudaError_t error);

}  // namespace lab::cpu
