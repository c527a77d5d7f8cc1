// Shared memory of the kernels that load boxes: tiles and their mbarriers.
#pragma once
#include <cuda_runtime.h>

#include "checks/tests/checked.hpp"
#include "common/ptx/mbarrier.cuh"
#include "common/ptx/tma.cuh"
#include "common/smem_plan.cuh"

namespace lab::checked {
namespace {

using namespace ptx;
using enum Finding::Kind;

constexpr Size SIZE{96, 4096, 1, 1};
constexpr unsigned BOX = 1024;  // bytes
constexpr int ITEMS = 512;      // halves of a box

// Tiles of one box each, and barriers that thread 0 has initialised, fenced and shown to all.
struct Plan {
  half* tile;
  MBarrier *full, *empty;
  __device__ explicit Plan(int slots = 1, unsigned empties = 1) {
    AlignedSmemCursor cursor;
    tile = cursor.array<half, SWIZZLE_ALIGN>("tile", 8 * slots, 64);
    full = cursor.array<MBarrier>("full", slots, 1);
    empty = cursor.array<MBarrier>("empty", slots, 1);
    if (threadIdx.x == 0) {
      for (int i = 0; i < slots; ++i) mbarrier_init(full + i, 1), mbarrier_init(empty + i, empties);
      fence_mbarrier_init();
    }
    __syncthreads();
  }
};

__device__ __forceinline__ int lane() { return int(threadIdx.x % 32); }
__device__ __forceinline__ int warp() { return int(threadIdx.x / 32); }
__device__ __forceinline__ int bits(half h) { return reinterpret_cast<const std::uint16_t&>(h); }

}  // namespace
}  // namespace lab::checked
