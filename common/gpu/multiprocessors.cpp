#include "common/multiprocessors.hpp"

#include <cuda_runtime.h>

#include <algorithm>

#include "common/backend.hpp"

namespace lab {

int multiprocessors() {
  if (exec_options().multiprocessors > 0) return exec_options().multiprocessors;
  thread_local int asked = -1, count = 1;  // a launcher asks several times per launch, of the device that is current
  int device = 0, n = 0;
  if (cudaGetDevice(&device) != cudaSuccess) return 1;
  if (device != asked)
    count = cudaDeviceGetAttribute(&n, cudaDevAttrMultiProcessorCount, device) == cudaSuccess && n > 0 ? n : 1,
    asked = device;
  return count;
}

unsigned persistent_blocks(unsigned pieces) { return std::min(pieces, unsigned(multiprocessors())); }

}  // namespace lab
