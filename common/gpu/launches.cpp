// The launches of a kernel's library pass through here: the runner exports these functions of the CUDA runtime, so the
// library's calls come to them, and they call the runtime's own. A launch is recorded, and made unless ExecOptions::dry
// says no; ExecOptions::multiprocessors is what a launcher finds that counts them.
#include <cuda_runtime.h>
#include <dlfcn.h>

#include <map>
#include <mutex>
#include <string>

#include "common/backend.hpp"

namespace {

template <class Function>
Function* of_runtime(Function*, const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

std::string extents(dim3 d) {
  return "(" + std::to_string(d.x) + "," + std::to_string(d.y) + "," + std::to_string(d.z) + ")";
}

// Makes a launch that is to be made: the runner's own always. Of one that CUDA refuses a line for the report.
template <class Make>
cudaError_t made(const lab::Launched& launch, Make make) {
  Dl_info kernel{}, runner{};
  dladdr(launch.kernel, &kernel), dladdr(reinterpret_cast<const void*>(&lab::to_be_made), &runner);
  if (kernel.dli_fbase != runner.dli_fbase && !lab::to_be_made(launch)) return cudaSuccess;
  const cudaError_t error = make();
  if (error == cudaSuccess) return error;
  std::string text = std::string(cudaGetErrorString(error)) + ": asks for " + std::to_string(launch.dynamic_smem) +
                     " B of dynamic shared memory";
  cudaFuncAttributes allowed{};
  if (cudaFuncGetAttributes(&allowed, launch.kernel) == cudaSuccess)
    text += ", the kernel's attribute allows " + std::to_string(allowed.maxDynamicSharedSizeBytes) + " B";
  if (const dim3 c = launch.cluster; c.x * c.y * c.z > 1)
    text += "; a grid of " + extents(launch.grid) + " in clusters of " + extents(c);
  lab::set_launch_message(text);
  return error;
}

std::mutex lock;
std::map<const void*, const void*> functions;  // of the runtime's handles

}  // namespace

extern "C" {

// What <<<>>> becomes: a handle for the kernel's host function, once, and a launch of the handle.
cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* function) {
  static const auto own = of_runtime(&__cudaGetKernel, "__cudaGetKernel");
  const cudaError_t error = own(kernel, function);
  const std::scoped_lock guard(lock);
  functions[*kernel] = function;
  return error;
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, std::size_t smem,
                               cudaStream_t stream) {
  static const auto own = of_runtime(&__cudaLaunchKernel, "__cudaLaunchKernel");
  const void* function = kernel;
  {
    const std::scoped_lock guard(lock);
    if (const auto known = functions.find(kernel); known != functions.end()) function = known->second;
  }
  return made({function, smem, stream, grid, block, dim3(1, 1, 1)},
              [&] { return own(kernel, grid, block, arguments, smem, stream); });
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* function, void** arguments) {
  static const auto own = of_runtime(&cudaLaunchKernelExC, "cudaLaunchKernelExC");
  dim3 cluster(1, 1, 1);
  for (unsigned i = 0; i < config->numAttrs; ++i)
    if (const auto& attribute = config->attrs[i]; attribute.id == cudaLaunchAttributeClusterDimension)
      cluster = dim3(attribute.val.clusterDim.x, attribute.val.clusterDim.y, attribute.val.clusterDim.z);
  return made({function, config->dynamicSmemBytes, config->stream, config->gridDim, config->blockDim, cluster},
              [&] { return own(config, function, arguments); });
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  static const auto own = of_runtime(&cudaDeviceGetAttribute, "cudaDeviceGetAttribute");
  const int chosen = lab::exec_options().multiprocessors;
  if (attribute == cudaDevAttrMultiProcessorCount && chosen > 0) return *value = chosen, cudaSuccess;
  return own(value, attribute, device);
}

}  // extern "C"
