// An address as the .shared instructions take it. The CPU's take pointers.
#pragma once
#include <cuda_runtime.h>

#ifdef __CUDACC__
namespace lab::ptx {

__device__ __forceinline__ unsigned shared_address(const void* pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

}  // namespace lab::ptx
#endif
