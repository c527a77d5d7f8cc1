// Tools for a patch in stages/STAGE/phases/ to see where a kernel's time goes, on a GPU: `make stage=STAGE phases`.
// One reads clocks, stamp(3);  // Q is there (the comment is the stamp's name), others stop after a phase.
#pragma once
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "common/stamps.hpp"

namespace lab {

static __device__ unsigned stamps[STAMPED_BLOCKS][STAMPS];

// By all threads; thread 0 of the block writes. Stamp 0 is where the others count from.
__device__ __forceinline__ void stamp(int which) {
  const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  if (threadIdx.x == 0 && block < STAMPED_BLOCKS) stamps[block][which] = clock();
}

// ptxas drops results that are never stored, and products that are never read. `never` must be false, and
// nothing that the compiler can know: S < 0.
template <class X, int COUNT>
__device__ __forceinline__ void needed(const X (&x)[COUNT], bool never, half* to) {
  if (never)
#pragma unroll
    for (int i = 0; i < COUNT; ++i) reinterpret_cast<volatile X*>(to)[i] = x[i];
}

static const bool stamps_registered = [] {
  stamp_reader().clear = [] {
    static const unsigned none[STAMPED_BLOCKS][STAMPS] = {};
    return cudaMemcpyToSymbol(stamps, none, sizeof none);
  };
  stamp_reader().read = [](unsigned(*to)[STAMPS]) { return cudaMemcpyFromSymbol(to, stamps, sizeof stamps); };
  return true;
}();

}  // namespace lab
