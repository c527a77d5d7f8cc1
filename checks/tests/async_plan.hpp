// Shared memory of the kernels that load boxes: tiles and their mbarriers.
#pragma once
#include <cuda_runtime.h>

#include "checks/tests/rules.hpp"
#include "common/ptx/mbarrier.cuh"
#include "common/ptx/tma.cuh"

namespace lab::rules {
namespace {

using namespace ptx;
using enum Finding::Kind;

constexpr Group GROUP{{96, 4096}, Vary::copies};
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

__device__ __forceinline__ int bits(half h) { return reinterpret_cast<const std::uint16_t&>(h); }

// The tile of a plan, filled by some threads, loaded or stored.
__device__ __forceinline__ void fill(half* tile, int first = int(threadIdx.x), int step = int(blockDim.x)) {
  for (int i = first; i < ITEMS; i += step) tile[i] = half();  // [write]
}
__device__ __forceinline__ void load(const Maps* maps, half* tile, MBarrier* full, int row = 0) {
  mbarrier_arrive_expect_tx(full, BOX);
  tma_load_2d(tile, &maps->in, 0, row, full);  // [load]
}
__device__ __forceinline__ void store(const Maps* maps, const half* tile, int row = 0) {
  tma_store_2d(&maps->out, tile, 0, row);  // [store]
  bulk_commit();
}

}  // namespace
}  // namespace lab::rules
