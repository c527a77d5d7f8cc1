// A probe's dynamic shared memory, at a multiple of 1024, on a GPU and, in the unit tests, on the CPU.
#pragma once
#include <cuda_runtime.h>
#ifndef __CUDACC__
#include "common/cpu/plain_launch.h"
#endif

namespace lab::probe {

__device__ __forceinline__ unsigned char* shared_image() {
#ifdef __CUDACC__
  extern __shared__ __align__(1024) unsigned char image[];
  return image;
#else
  return plain::dynamic_shared<unsigned char>("image");
#endif
}

}  // namespace lab::probe
