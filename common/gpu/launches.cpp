// The launches of a kernel's library pass through here: the runner exports these functions of the CUDA runtime, so the
// library's calls come to them, and they call the runtime's own. A launch is recorded, and made unless ExecOptions::dry
// says no; ExecOptions::multiprocessors is what a launcher finds that counts them.
#include <cuda_runtime.h>
#include <dlfcn.h>

#include <map>
#include <mutex>

#include "common/backend.hpp"

namespace {

template <class Function>
Function* of_runtime(Function*, const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

// Whether a launch is to be made: the runner's own always.
bool passes(const lab::Launched& launch) {
  Dl_info kernel{}, runner{};
  dladdr(launch.kernel, &kernel), dladdr(reinterpret_cast<const void*>(&lab::to_be_made), &runner);
  return kernel.dli_fbase == runner.dli_fbase || lab::to_be_made(launch);
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
  if (!passes({function, smem, stream, grid, block, dim3(1, 1, 1)})) return cudaSuccess;
  return own(kernel, grid, block, arguments, smem, stream);
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* function, void** arguments) {
  static const auto own = of_runtime(&cudaLaunchKernelExC, "cudaLaunchKernelExC");
  dim3 cluster(1, 1, 1);
  for (unsigned i = 0; i < config->numAttrs; ++i)
    if (const auto& attribute = config->attrs[i]; attribute.id == cudaLaunchAttributeClusterDimension)
      cluster = dim3(attribute.val.clusterDim.x, attribute.val.clusterDim.y, attribute.val.clusterDim.z);
  if (!passes({function, config->dynamicSmemBytes, config->stream, config->gridDim, config->blockDim, cluster}))
    return cudaSuccess;
  return own(config, function, arguments);
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  static const auto own = of_runtime(&cudaDeviceGetAttribute, "cudaDeviceGetAttribute");
  const int chosen = lab::exec_options().multiprocessors;
  if (attribute == cudaDevAttrMultiProcessorCount && chosen > 0) return *value = chosen, cudaSuccess;
  return own(value, attribute, device);
}

}  // extern "C"
