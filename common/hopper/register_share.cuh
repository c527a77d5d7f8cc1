// Registers per thread of a block of GROUPS warpgroups that multiply and one that loads, which keeps PRODUCER of its own:
// all start alike, in steps of 8, and the others share out what the producer gives back. More than 240 are of no use, so
// a group that is alone starts with enough, and nothing is handed over.
#pragma once
#include "common/ptx/registers.cuh"

namespace lab {

template <int GROUPS, int PRODUCER>
struct RegisterShare {
  static constexpr int START = 65536 / ((GROUPS + 1) * 128) / 8 * 8;
  static constexpr int SHARE = (START * (GROUPS + 1) - PRODUCER) / GROUPS / 8 * 8;
  static constexpr int TAKEN = SHARE < 240 ? SHARE : 240;
  static constexpr bool SHARED_OUT = TAKEN > START;
  // By the producer's warpgroup, and by each of the others.
  __device__ __forceinline__ static void release() {
    if constexpr (SHARED_OUT) ptx::registers_release<PRODUCER>();
  }
  __device__ __forceinline__ static void take() {
    if constexpr (SHARED_OUT) ptx::registers_take<TAKEN>();
  }
};

}  // namespace lab
