// A tile that a warp does not need.
#pragma once
#include <cuda_runtime.h>

#include "common/ptx/mbarrier.cuh"

namespace lab {

// The warp gives the tile's slot back, which the producer fills again when all warps have given it back. full, empty: the
// mbarriers of the ring's slots; at: the tile's slot, and the parity of the phase in which the slot becomes full with
// the tile.
template <class Place>
__device__ __forceinline__ void skip_tile(ptx::MBarrier* full, ptx::MBarrier* empty, const Place& at, int lane) {
  ptx::mbarrier_wait(&full[at.slot], at.parity);
  __syncwarp();  // a lane that has not looked yet could come a round of the ring too late
  if (lane == 0) ptx::mbarrier_arrive(&empty[at.slot]);
}

}  // namespace lab
