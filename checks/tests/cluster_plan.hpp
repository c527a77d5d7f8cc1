// Shared memory of the kernels that run in clusters.
#pragma once
#include <cuda_runtime.h>

#include "checks/tests/rules.hpp"
#include "common/ptx/cluster.cuh"
#include "common/ptx/grid_dependency.cuh"
#include "common/ptx/tma.cuh"

namespace lab::rules {
namespace {

using namespace ptx;
using enum Finding::Kind;
constexpr int THREADS = 64, MOST_BLOCKS = 4;
constexpr Group GROUP{{THREADS, 8192, 4, 2}, Vary::cluster};
constexpr unsigned BOX = 4 * 64 * sizeof(half);  // bytes

__device__ __forceinline__ float4 all(float x) { return make_float4(x, x, x, x); }
__device__ __forceinline__ float sum(float4 v) { return v.x + v.y + v.z + v.w; }
__device__ __forceinline__ int me() { return int(threadIdx.x); }
__device__ __forceinline__ unsigned after(unsigned rank) { return (rank + 1) % cluster_size(); }
__device__ __forceinline__ unsigned before(unsigned rank) { return (rank + cluster_size() - 1) % cluster_size(); }
__device__ __forceinline__ bool thread7() { return cluster_rank() == 0 && me() == 7; }
__device__ __forceinline__ bool other(int thread) { return cluster_rank() == 1 && me() == thread; }
__device__ __forceinline__ int& result(int* out) { return out[blockIdx.x * THREADS + threadIdx.x]; }

// An inbox of one row for each block, written once by its owner, and barriers that thread 0 has initialised and fenced.
struct Plan {
  float4* inbox;
  half* tile;
  MBarrier *full, *empty;
  __device__ explicit Plan(unsigned fulls = 1, unsigned empties = 1) {
    AlignedSmemCursor cursor;
    inbox = cursor.array<float4>("inbox", MOST_BLOCKS, THREADS);
    tile = cursor.array<half, SWIZZLE_ALIGN>("tile", 8, 64);
    full = cursor.array<MBarrier>("full", 2, 1);
    empty = cursor.array<MBarrier>("empty", 2, 1);
    for (int row = 0; row < MOST_BLOCKS; ++row) inbox[row * THREADS + me()] = all(0);
    if (me() == 0) {
      for (int i = 0; i < 2; ++i) mbarrier_init(full + i, fulls), mbarrier_init(empty + i, empties);
      fence_mbarrier_init();
    }
    __syncthreads();
  }
  __device__ float4* from(unsigned rank) const { return inbox + int(rank) * THREADS + me(); }
};
struct Met : Plan {  // and all blocks have met
  __device__ explicit Met(unsigned fulls = 1, unsigned empties = 1) : Plan(fulls, empties) { cluster_sync(); }
};

}  // namespace
}  // namespace lab::rules
