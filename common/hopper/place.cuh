// A place in a ring of SLOTS slots, each with an mbarrier for `full` and one for `empty`: counted, not divided.
#pragma once
#include <cuda_runtime.h>

namespace lab {

template <int SLOTS>
struct Place {
  unsigned slot = 0, parity = 0;  // parity: of the phase in which the slot becomes full
  __device__ __forceinline__ void next() {
    if (++slot == SLOTS) slot = 0, parity ^= 1;
  }
};

}  // namespace lab
