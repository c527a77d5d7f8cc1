// The kernels of checks/tests/test_async.cpp. Compiled with -fsanitize=thread; a comment such as [write] marks the line
// that a report must name.
#include "checks/tests/test_async_kernels.hpp"

#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include "checks/tests/test_async_products.hpp"
#include "common/ptx/barrier.cuh"
#include "common/ptx/mbarrier.cuh"
#include "common/ptx/tma.cuh"
#include "common/smem_plan.cuh"

namespace lab::async_kernels {
namespace {

using namespace ptx;
using async_tests::product_issue;
using async_tests::product_wait;

constexpr unsigned BOX = 1024;  // bytes
constexpr int ITEMS = 512;      // halves of a box

// Tiles of one box each, and barriers that thread 0 has initialised, fenced and shown to all.
struct Plan {
  half* tile;
  MBarrier *full, *empty;
  __device__ explicit Plan(int slots = 1, unsigned empties = 1, unsigned fulls = 1) {
    AlignedSmemCursor cursor;
    tile = cursor.array<half, SWIZZLE_ALIGN>("tile", 8 * slots, 64);
    full = cursor.array<MBarrier>("full", slots, 1);
    empty = cursor.array<MBarrier>("empty", slots, 1);
    if (threadIdx.x == 0) {
      for (int i = 0; i < slots; ++i) mbarrier_init(full + i, fulls), mbarrier_init(empty + i, empties);
      fence_mbarrier_init();
    }
    __syncthreads();
  }
};

__device__ __forceinline__ int lane() { return int(threadIdx.x % 32); }
__device__ __forceinline__ int warp() { return int(threadIdx.x / 32); }
__device__ __forceinline__ int bits(half h) { return reinterpret_cast<const std::uint16_t&>(h); }
__device__ __forceinline__ void store_tile(const Maps* maps, const half* tile) {
  tma_store_2d(&maps->out, tile, 0, 0);  // [store]
  bulk_commit();
  bulk_wait_read<0>();
}

}  // namespace

// --- loads and their waits ---------------------------------------------------------------------------------------

__global__ void load_waited(const Maps* maps, int* out) {
  Plan plan;
  if (threadIdx.x == 32) {
    mbarrier_arrive_expect_tx(plan.full, BOX);
    tma_load_2d(plan.tile, &maps->in, 0, 0, plan.full);
  }
  mbarrier_wait(plan.full, 0);
  out[threadIdx.x] = bits(plan.tile[threadIdx.x]);
}

__global__ void load_not_waited(const Maps* maps, int* out) {
  Plan plan;
  if (threadIdx.x == 0) {
    mbarrier_arrive_expect_tx(plan.full, BOX);
    tma_load_2d(plan.tile, &maps->in, 0, 0, plan.full);  // [load]
  }
  __syncthreads();
  if (threadIdx.x == 9) out[9] = bits(plan.tile[5]);  // [read]
  mbarrier_wait(plan.full, 0);
}

__global__ void load_wrong_parity(const Maps* maps, int* out) {
  Plan plan;
  mbarrier_wait(plan.full, 1);  // passes: that is the phase before the first
  __syncthreads();
  if (threadIdx.x == 0) {
    mbarrier_arrive_expect_tx(plan.full, BOX);
    tma_load_2d(plan.tile, &maps->in, 0, 0, plan.full);  // [load]
  }
  __syncthreads();
  if (threadIdx.x == 40) out[40] = bits(plan.tile[70]);  // [read]
  mbarrier_wait(plan.full, 0);
}

__global__ void load_written_unwaited(const Maps* maps, int*) {
  Plan plan;
  if (threadIdx.x == 0) {
    mbarrier_arrive_expect_tx(plan.full, BOX);
    tma_load_2d(plan.tile, &maps->in, 0, 0, plan.full);  // [load]
    plan.tile[7] = plan.tile[ITEMS - 1];                 // [read]
  }
  mbarrier_wait(plan.full, 0);
}

__global__ void load_one_waits(const Maps* maps, int* out) {
  Plan plan;
  if (threadIdx.x == 0) {
    mbarrier_arrive_expect_tx(plan.full, BOX);
    tma_load_2d(plan.tile, &maps->in, 0, 0, plan.full);  // [load]
  }
  __syncthreads();
  if (threadIdx.x == 0) mbarrier_wait(plan.full, 0);
  if (threadIdx.x == 0 || threadIdx.x == 3) out[threadIdx.x] = bits(plan.tile[5]);  // [read]
}

__global__ void load_one_waits_then_syncwarp(const Maps* maps, int* out) {
  Plan plan;
  if (threadIdx.x == 0) {
    mbarrier_arrive_expect_tx(plan.full, BOX);
    tma_load_2d(plan.tile, &maps->in, 0, 0, plan.full);
    mbarrier_wait(plan.full, 0);
  }
  __syncwarp();
  if (warp() == 0) out[threadIdx.x] = bits(plan.tile[threadIdx.x]);
}

__global__ void load_one_waits_then_barrier(const Maps* maps, int* out) {
  Plan plan;
  if (threadIdx.x == 0) {
    mbarrier_arrive_expect_tx(plan.full, BOX);
    tma_load_2d(plan.tile, &maps->in, 0, 0, plan.full);
    mbarrier_wait(plan.full, 0);
  }
  __syncthreads();
  out[threadIdx.x] = bits(plan.tile[threadIdx.x]);
}

__global__ void load_one_waits_then_mbarrier(const Maps* maps, int* out) {
  Plan plan;
  if (threadIdx.x == 0) {
    mbarrier_arrive_expect_tx(plan.full, BOX);
    tma_load_2d(plan.tile, &maps->in, 0, 0, plan.full);
    mbarrier_wait(plan.full, 0);
    mbarrier_arrive(plan.empty);
  }
  mbarrier_wait(plan.empty, 0);
  out[threadIdx.x] = bits(plan.tile[threadIdx.x]);
}

__global__ void load_one_waits_then_named(const Maps* maps, int* out) {
  Plan plan;
  if (threadIdx.x == 0) {
    mbarrier_arrive_expect_tx(plan.full, BOX);
    tma_load_2d(plan.tile, &maps->in, 0, 0, plan.full);
    mbarrier_wait(plan.full, 0);
  }
  __syncwarp();
  if (warp() == 0) barrier_arrive(1, 64);
  if (warp() == 1) {
    barrier_sync(1, 64);
    out[threadIdx.x] = bits(plan.tile[threadIdx.x]);
  }
}

__global__ void load_polled(const Maps* maps, int* out) {
  Plan plan;
  if (threadIdx.x == 0) {
    mbarrier_arrive_expect_tx(plan.full, BOX);
    tma_load_2d(plan.tile, &maps->in, 0, 0, plan.full);
  }
  if (warp() == 1 && !mbarrier_try_wait(plan.full, 0)) mbarrier_wait(plan.full, 0);
  if (warp() == 2)
    while (!mbarrier_try_wait(plan.full, 0)) {
    }
  if (warp()) out[threadIdx.x] = bits(plan.tile[threadIdx.x]);
}

__global__ void load_twice_unwaited(const Maps* maps, int*) {
  Plan plan;
  if (threadIdx.x == 0) {
    mbarrier_arrive_expect_tx(plan.full, 2 * BOX);
    tma_load_2d(plan.tile, &maps->in, 0, 0, plan.full);  // [load]
    tma_load_2d(plan.tile, &maps->in, 0, 8, plan.full);  // [read]
  }
  mbarrier_wait(plan.full, 0);
}

// --- fence.proxy.async ---------------------------------------------------------------------------------------------

__global__ void store_fenced(const Maps* maps, int*) {
  Plan plan;
  for (int i = threadIdx.x; i < ITEMS; i += blockDim.x) plan.tile[i] = half();
  fence_proxy_async();
  __syncthreads();
  if (threadIdx.x == 64) store_tile(maps, plan.tile);
}

__global__ void store_unfenced(const Maps* maps, int*) {
  Plan plan;
  for (int i = threadIdx.x; i < ITEMS; i += blockDim.x) plan.tile[i] = half();  // [write]
  __syncthreads();
  if (threadIdx.x == 64) {
    tma_store_2d(&maps->out, plan.tile, 0, 0);  // [work]
    bulk_commit();
    bulk_wait_read<0>();
  }
}

__global__ void store_fenced_by_issuer(const Maps* maps, int*) {
  Plan plan;
  for (int i = threadIdx.x; i < ITEMS; i += blockDim.x) plan.tile[i] = half();
  __syncthreads();
  if (threadIdx.x == 64) {
    fence_proxy_async();
    store_tile(maps, plan.tile);
  }
}

__global__ void store_fence_before_write(const Maps* maps, int*) {
  Plan plan;
  fence_proxy_async();
  for (int i = threadIdx.x; i < ITEMS; i += blockDim.x) plan.tile[i] = half();  // [write]
  __syncthreads();
  if (threadIdx.x == 64) {
    tma_store_2d(&maps->out, plan.tile, 0, 0);  // [work]
    bulk_commit();
    bulk_wait_read<0>();
  }
}

// Warp 1 fences what it has not seen.
__global__ void store_fenced_by_stranger(const Maps* maps, int*) {
  Plan plan;
  if (warp() == 0)
    for (int i = lane(); i < ITEMS; i += 32) plan.tile[i] = half();  // [write]
  if (warp() == 1) fence_proxy_async();
  __syncthreads();
  if (threadIdx.x == 64) {
    tma_store_2d(&maps->out, plan.tile, 0, 0);  // [work]
    bulk_commit();
    bulk_wait_read<0>();
  }
}

__global__ void store_no_barrier(const Maps* maps, int*) {
  Plan plan;
  if (warp() == 0)
    for (int i = lane(); i < ITEMS; i += 32) plan.tile[i] = half();  // [write]
  fence_proxy_async();
  if (threadIdx.x == 64) {
    mbarrier_wait(plan.full, 1);
    tma_store_2d(&maps->out, plan.tile, 0, 0);  // [work]
    bulk_commit();
    bulk_wait_read<0>();
  }
}

__global__ void store_of_cp_async_fenced(const Maps* maps, int*) {
  Plan plan;
  for (int i = threadIdx.x * 8; i < ITEMS; i += blockDim.x * 8)
    __pipeline_memcpy_async(plan.tile + i, maps->data + i, 16);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  fence_proxy_async();
  __syncthreads();
  if (threadIdx.x == 64) store_tile(maps, plan.tile);
}

__global__ void store_of_cp_async_unfenced(const Maps* maps, int*) {
  Plan plan;
  for (int i = threadIdx.x * 8; i < ITEMS; i += blockDim.x * 8)
    __pipeline_memcpy_async(plan.tile + i, maps->data + i, 16);  // [write]
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  if (threadIdx.x == 64) {
    tma_store_2d(&maps->out, plan.tile, 0, 0);  // [work]
    bulk_commit();
    bulk_wait_read<0>();
  }
}

__global__ void load_over_written_fenced(const Maps* maps, int* out) {
  Plan plan;
  for (int i = threadIdx.x; i < ITEMS; i += blockDim.x) plan.tile[i] = half();
  fence_proxy_async();
  __syncthreads();
  if (threadIdx.x == 0) {
    mbarrier_arrive_expect_tx(plan.full, BOX);
    tma_load_2d(plan.tile, &maps->in, 0, 0, plan.full);
  }
  mbarrier_wait(plan.full, 0);
  out[threadIdx.x] = bits(plan.tile[threadIdx.x]);
}

__global__ void load_over_written_unfenced(const Maps* maps, int* out) {
  Plan plan;
  for (int i = threadIdx.x; i < ITEMS; i += blockDim.x) plan.tile[i] = half();  // [write]
  __syncthreads();
  if (threadIdx.x == 0) {
    mbarrier_arrive_expect_tx(plan.full, BOX);
    tma_load_2d(plan.tile, &maps->in, 0, 0, plan.full);  // [work]
  }
  mbarrier_wait(plan.full, 0);
  out[threadIdx.x] = bits(plan.tile[threadIdx.x]);
}

// --- readers before writers ------------------------------------------------------------------------------------------

namespace {

constexpr int ROUNDS = 7, SLOTS = 2;

__device__ __forceinline__ void produce(const Maps* maps, const Plan& plan, int round) {
  const int slot = round % SLOTS;
  mbarrier_arrive_expect_tx(plan.full + slot, BOX);
  tma_load_2d(plan.tile + slot * ITEMS, &maps->in, 0, round * 8, plan.full + slot);  // [load]
}

}  // namespace

// Warp 0 produces, warps 1 and 2 consume.
__global__ void ring_kept(const Maps* maps, int* out) {
  Plan plan(SLOTS, 64);
  for (int round = 0; round < ROUNDS; ++round) {
    const int slot = round % SLOTS;
    const unsigned parity = round / SLOTS & 1;
    if (threadIdx.x == 0) {
      mbarrier_wait(plan.empty + slot, parity ^ 1);
      produce(maps, plan, round);
    } else if (warp()) {
      mbarrier_wait(plan.full + slot, parity);
      out[threadIdx.x] += bits(plan.tile[slot * ITEMS + threadIdx.x]);
      mbarrier_arrive(plan.empty + slot);
    }
  }
}

__global__ void ring_freed_early(const Maps* maps, int* out) {
  Plan plan(SLOTS, 64);
  for (int round = 0; round < ROUNDS; ++round) {
    const int slot = round % SLOTS;
    const unsigned parity = round / SLOTS & 1;
    if (threadIdx.x == 0) {
      mbarrier_wait(plan.empty + slot, parity ^ 1);
      mbarrier_arrive_expect_tx(plan.full + slot, BOX);
      tma_load_2d(plan.tile + slot * ITEMS, &maps->in, 0, round * 8, plan.full + slot);  // [load]
    } else if (warp()) {
      mbarrier_wait(plan.full + slot, parity);
      mbarrier_arrive(plan.empty + slot);
      out[threadIdx.x] += bits(plan.tile[slot * ITEMS + threadIdx.x]);  // [read]
    }
  }
}

__global__ void ring_never_freed(const Maps* maps, int* out) {
  Plan plan(SLOTS, 64);
  for (int round = 0; round < ROUNDS; ++round) {
    const int slot = round % SLOTS;
    const unsigned parity = round / SLOTS & 1;
    if (threadIdx.x == 0) {
      mbarrier_arrive_expect_tx(plan.full + slot, BOX);
      tma_load_2d(plan.tile + slot * ITEMS, &maps->in, 0, round * 8, plan.full + slot);  // [load]
      mbarrier_wait(plan.full + slot, parity);
    } else if (warp()) {
      mbarrier_wait(plan.full + slot, parity);
      out[threadIdx.x] += bits(plan.tile[slot * ITEMS + threadIdx.x]);  // [read]
    }
    if (round >= 1) break;
  }
  // Both slots are full; the next load comes without asking whether they are free.
  if (threadIdx.x == 0) {
    mbarrier_arrive_expect_tx(plan.full, BOX);
    tma_load_2d(plan.tile, &maps->in, 0, 16, plan.full);  // [again]
    mbarrier_wait(plan.full, 1);
  }
}

__global__ void ring_one_warp_counted(const Maps* maps, int* out) {
  Plan plan(SLOTS, 32);  // two warps come
  for (int round = 0; round < ROUNDS; ++round) {
    const int slot = round % SLOTS;
    const unsigned parity = round / SLOTS & 1;
    if (threadIdx.x == 0) {
      mbarrier_wait(plan.empty + slot, parity ^ 1);
      mbarrier_arrive_expect_tx(plan.full + slot, BOX);
      tma_load_2d(plan.tile + slot * ITEMS, &maps->in, 0, round * 8, plan.full + slot);  // [load]
    } else if (warp()) {
      mbarrier_wait(plan.full + slot, parity);
      out[threadIdx.x] += bits(plan.tile[slot * ITEMS + threadIdx.x]);  // [read]
      mbarrier_arrive(plan.empty + slot);                               // [free]
    }
  }
}

__global__ void ring_lane_frees_for_warp(const Maps* maps, int* out) {
  Plan plan(SLOTS, 2);
  for (int round = 0; round < ROUNDS; ++round) {
    const int slot = round % SLOTS;
    const unsigned parity = round / SLOTS & 1;
    if (threadIdx.x == 0) {
      mbarrier_wait(plan.empty + slot, parity ^ 1);
      produce(maps, plan, round);
    } else if (warp()) {
      mbarrier_wait(plan.full + slot, parity);
      out[threadIdx.x] += bits(plan.tile[slot * ITEMS + threadIdx.x]);
      __syncwarp();
      if (lane() == 5) mbarrier_arrive(plan.empty + slot);
    }
  }
}

__global__ void ring_lane_frees_unsynced(const Maps* maps, int* out) {
  Plan plan(SLOTS, 2);
  for (int round = 0; round < ROUNDS; ++round) {
    const int slot = round % SLOTS;
    const unsigned parity = round / SLOTS & 1;
    if (threadIdx.x == 0) {
      mbarrier_wait(plan.empty + slot, parity ^ 1);
      mbarrier_arrive_expect_tx(plan.full + slot, BOX);
      tma_load_2d(plan.tile + slot * ITEMS, &maps->in, 0, round * 8, plan.full + slot);  // [load]
    } else if (warp()) {
      mbarrier_wait(plan.full + slot, parity);
      out[threadIdx.x] += bits(plan.tile[slot * ITEMS + threadIdx.x]);  // [read]
      if (lane() == 5) mbarrier_arrive(plan.empty + slot);
    }
  }
}

__global__ void store_overwritten(const Maps* maps, int*) {
  Plan plan;
  if (threadIdx.x) return;
  for (int i = 0; i < ITEMS; ++i) plan.tile[i] = half();
  fence_proxy_async();
  tma_store_2d(&maps->out, plan.tile, 0, 0);  // [store]
  bulk_commit();
  plan.tile[17] = half();  // [write]
  bulk_wait_read<0>();
}

__global__ void store_overwritten_after_wait(const Maps* maps, int*) {
  Plan plan(2);
  if (threadIdx.x) return;
  for (int i = 0; i < 2 * ITEMS; ++i) plan.tile[i] = half();
  fence_proxy_async();
  tma_store_2d(&maps->out, plan.tile, 0, 0);
  bulk_commit();
  tma_store_2d(&maps->out, plan.tile + ITEMS, 0, 8);
  bulk_commit();
  bulk_wait_read<1>();
  plan.tile[17] = half();
  bulk_wait<0>();
  plan.tile[ITEMS + 17] = half();
}

__global__ void store_overwritten_by_other(const Maps* maps, int*) {
  Plan plan;
  for (int i = threadIdx.x; i < ITEMS; i += blockDim.x) plan.tile[i] = half();
  fence_proxy_async();
  __syncthreads();
  if (threadIdx.x == 0) {
    tma_store_2d(&maps->out, plan.tile, 0, 0);  // [store]
    bulk_commit();
  }
  __syncthreads();
  if (threadIdx.x == 50) plan.tile[17] = half();  // [write]
  if (threadIdx.x == 0) bulk_wait_read<0>();
}

__global__ void store_overwritten_after_barrier(const Maps* maps, int*) {
  Plan plan;
  for (int round = 0; round < 3; ++round) {
    for (int i = threadIdx.x; i < ITEMS; i += blockDim.x) plan.tile[i] = half();
    fence_proxy_async();
    __syncthreads();
    if (threadIdx.x == 0) store_tile(maps, plan.tile);
    __syncthreads();
  }
}

// Two warps' products read the slot; warp 2 loads into it.
__global__ void product_waited(const Maps* maps, int*) {
  Plan plan(SLOTS, 64);
  for (int round = 0; round < ROUNDS; ++round) {
    const int slot = round % SLOTS;
    const unsigned parity = round / SLOTS & 1;
    if (threadIdx.x == 64) {
      mbarrier_wait(plan.empty + slot, parity ^ 1);
      produce(maps, plan, round);
    } else if (warp() < 2) {
      mbarrier_wait(plan.full + slot, parity);
      product_issue(plan.tile + slot * ITEMS, BOX, 2);
      product_wait(2);
      mbarrier_arrive(plan.empty + slot);
    }
  }
}

__global__ void product_freed_early(const Maps* maps, int*) {
  Plan plan(SLOTS, 64);
  for (int round = 0; round < ROUNDS; ++round) {
    const int slot = round % SLOTS;
    const unsigned parity = round / SLOTS & 1;
    if (threadIdx.x == 64) {
      mbarrier_wait(plan.empty + slot, parity ^ 1);
      mbarrier_arrive_expect_tx(plan.full + slot, BOX);
      tma_load_2d(plan.tile + slot * ITEMS, &maps->in, 0, round * 8, plan.full + slot);  // [load]
    } else if (warp() < 2) {
      mbarrier_wait(plan.full + slot, parity);
      product_issue(plan.tile + slot * ITEMS, BOX, 2);  // [read]
      mbarrier_arrive(plan.empty + slot);
      product_wait(2);
    }
  }
}

// A warp's wait says nothing of the other warp's part of the product.
__global__ void product_one_warp_frees(const Maps* maps, int*) {
  Plan plan(SLOTS, 32);
  for (int round = 0; round < ROUNDS; ++round) {
    const int slot = round % SLOTS;
    const unsigned parity = round / SLOTS & 1;
    if (threadIdx.x == 64) {
      mbarrier_wait(plan.empty + slot, parity ^ 1);
      mbarrier_arrive_expect_tx(plan.full + slot, BOX);
      tma_load_2d(plan.tile + slot * ITEMS, &maps->in, 0, round * 8, plan.full + slot);  // [load]
    } else if (warp() < 2) {
      mbarrier_wait(plan.full + slot, parity);
      product_issue(plan.tile + slot * ITEMS, BOX, 2);  // [read]
      product_wait(2);
      if (warp() == 0) mbarrier_arrive(plan.empty + slot);
    }
  }
}

__global__ void product_one_warp_waits(const Maps* maps, int*) {
  Plan plan(1, 64);
  for (int round = 0; round < 2; ++round) {
    if (threadIdx.x == 64) {
      mbarrier_wait(plan.empty, unsigned(round) ^ 1);
      mbarrier_arrive_expect_tx(plan.full, BOX);
      tma_load_2d(plan.tile, &maps->in, 0, round * 8, plan.full);  // [load]
    } else if (warp() < 2) {
      mbarrier_wait(plan.full, unsigned(round));
      product_issue(plan.tile, BOX, 2);  // [read]
      if (warp() == 0) product_wait(2);
      barrier_sync(2, 64);
      mbarrier_arrive(plan.empty);
      if (warp() == 1) product_wait(2);
    }
  }
}

__global__ void product_unfenced(const Maps*, int*) {
  Plan plan;
  for (int i = threadIdx.x; i < ITEMS; i += blockDim.x) plan.tile[i] = half();  // [write]
  __syncthreads();
  if (warp() < 2) {
    product_issue(plan.tile, BOX, 2);  // [work]
    product_wait(2);
  }
}

__global__ void product_before_load(const Maps* maps, int*) {
  Plan plan;
  if (threadIdx.x == 64) {
    mbarrier_arrive_expect_tx(plan.full, BOX);
    tma_load_2d(plan.tile, &maps->in, 0, 0, plan.full);  // [load]
  }
  __syncthreads();
  if (warp() == 0) mbarrier_wait(plan.full, 0);  // warp 1 does not
  if (warp() < 2) {
    product_issue(plan.tile, BOX, 2);  // [read]
    product_wait(2);
  }
}

__global__ void product_overwritten(const Maps*, int*) {
  Plan plan;
  for (int i = threadIdx.x; i < ITEMS; i += blockDim.x) plan.tile[i] = half();
  fence_proxy_async();
  __syncthreads();
  if (warp() < 2) product_issue(plan.tile, BOX, 2);  // [read]
  __syncthreads();
  if (threadIdx.x == 40) plan.tile[3] = half();  // [write]
  if (warp() < 2) product_wait(2);
}

// --- mbarriers -----------------------------------------------------------------------------------------------------

namespace {
__device__ __forceinline__ Plan* unfenced(void (*fence)(), bool ordered, MBarrier*& full, half*& tile) {
  AlignedSmemCursor cursor;
  tile = cursor.array<half, SWIZZLE_ALIGN>("tile", 8, 64);
  full = cursor.array<MBarrier>("full", 1, 1);
  if (threadIdx.x == 0) {
    mbarrier_init(full, 1);
    if (fence) fence();
  }
  if (ordered) __syncthreads();
  return nullptr;
}
}  // namespace

__global__ void init_fenced(const Maps* maps, int*) {
  MBarrier* full;
  half* tile;
  unfenced([] { fence_mbarrier_init(); }, true, full, tile);
  if (threadIdx.x == 33) {
    mbarrier_arrive_expect_tx(full, BOX);
    tma_load_2d(tile, &maps->in, 0, 0, full);
  }
  mbarrier_wait(full, 0);
}

__global__ void init_proxy_fenced(const Maps* maps, int*) {
  MBarrier* full;
  half* tile;
  unfenced([] { fence_proxy_async(); }, true, full, tile);
  if (threadIdx.x == 33) {
    mbarrier_arrive_expect_tx(full, BOX);
    tma_load_2d(tile, &maps->in, 0, 0, full);
  }
  mbarrier_wait(full, 0);
}

__global__ void init_not_fenced(const Maps* maps, int*) {
  AlignedSmemCursor cursor;
  half* tile = cursor.array<half, SWIZZLE_ALIGN>("tile", 8, 64);
  MBarrier* full = cursor.array<MBarrier>("full", 1, 1);
  if (threadIdx.x == 0) mbarrier_init(full, 1);  // [init]
  __syncthreads();
  if (threadIdx.x == 33) {
    mbarrier_arrive_expect_tx(full, BOX);
    tma_load_2d(tile, &maps->in, 0, 0, full);  // [load]
  }
  mbarrier_wait(full, 0);
}

__global__ void init_not_ordered(const Maps*, int*) {
  AlignedSmemCursor cursor;
  MBarrier* full = cursor.array<MBarrier>("full", 1, 1);
  if (threadIdx.x == 0) {
    mbarrier_init(full, 1);  // [init]
    fence_mbarrier_init();
  }
  __shfl_sync(0xFFFFFFFFu, 1, 0);               // warp 0 meets, and nothing is ordered by it
  if (threadIdx.x == 7) mbarrier_arrive(full);  // [load]
  if (threadIdx.x == 0) mbarrier_wait(full, 0);
}

__global__ void arrive_orders(const Maps*, int* out) {
  Plan plan(1, 32);
  if (warp() == 0) {
    plan.tile[threadIdx.x] = half();
    mbarrier_arrive(plan.empty);
  } else {
    mbarrier_wait(plan.empty, 0);
    out[threadIdx.x] = bits(plan.tile[lane() ^ 9]);
  }
}

__global__ void arrive_written_after(const Maps*, int* out) {
  Plan plan(1, 32);
  if (warp() == 0) {
    mbarrier_arrive(plan.empty);
    plan.tile[threadIdx.x] = half();  // [write]
  } else {
    mbarrier_wait(plan.empty, 0);
    if (threadIdx.x == 40) out[40] = bits(plan.tile[3]);  // [read]
  }
}

__global__ void arrive_is_of_one_thread(const Maps*, int* out) {
  Plan plan;
  if (warp() == 0) {
    plan.tile[threadIdx.x] = half();  // [write]
    if (threadIdx.x == 0) mbarrier_arrive(plan.empty);
  } else {
    mbarrier_wait(plan.empty, 0);
    if (threadIdx.x == 40) out[40] = bits(plan.tile[3]);  // [read]
  }
}

__global__ void arrive_after_syncwarp(const Maps*, int* out) {
  Plan plan;
  if (warp() == 0) {
    plan.tile[threadIdx.x] = half();
    __syncwarp();
    if (threadIdx.x == 0) mbarrier_arrive(plan.empty);
  } else {
    mbarrier_wait(plan.empty, 0);
    out[threadIdx.x] = bits(plan.tile[lane()]);
  }
}

// Warp 0 writes, warp 1 hears of it and tells warp 2.
__global__ void arrive_chain(const Maps*, int* out) {
  Plan plan(2, 32);
  if (warp() == 0) {
    plan.tile[threadIdx.x] = half();
    mbarrier_arrive(plan.empty);
  } else if (warp() == 1) {
    mbarrier_wait(plan.empty, 0);
    mbarrier_arrive(plan.empty + 1);
  } else {
    mbarrier_wait(plan.empty + 1, 0);
    out[threadIdx.x] = bits(plan.tile[lane()]);
  }
}

__global__ void phase_unseen(const Maps*, int*) {
  Plan plan;
  if (threadIdx.x == 0) {
    mbarrier_arrive(plan.empty);
    mbarrier_arrive(plan.empty);  // [again]
    mbarrier_arrive(plan.empty);
  }
  __syncthreads();
  mbarrier_wait(plan.empty, 0);  // [wait]
}

// Warp 2 asks for the first phase of `empty` when its third is complete.
__global__ void wait_late(const Maps*, int*) {
  Plan plan;
  if (threadIdx.x == 0)
    for (unsigned phase = 0; phase < 3; ++phase) {
      mbarrier_arrive(plan.empty);
      mbarrier_wait(plan.empty, phase & 1);
    }
  if (threadIdx.x == 64) {
    for (int i = 0; i < 64; ++i) mbarrier_try_wait(plan.full, 0);  // some time
    mbarrier_wait(plan.empty, 0);                                  // [wait]
  }
}

__global__ void bytes_too_many(const Maps* maps, int*) {
  Plan plan(2);
  if (threadIdx.x == 0) {
    mbarrier_arrive_expect_tx(plan.full, BOX);
    tma_load_2d(plan.tile, &maps->in, 0, 0, plan.full);          // [load]
    tma_load_2d(plan.tile + ITEMS, &maps->in, 0, 8, plan.full);  // [load2]
  }
  mbarrier_wait(plan.full, 0);
}

__global__ void barrier_bytes_read(const Maps*, int* out) {
  Plan plan;
  if (threadIdx.x == 3) out[3] = int(plan.full->state);  // [read]
}

__global__ void barrier_bytes_written(const Maps*, int*) {
  Plan plan;
  if (threadIdx.x == 3) plan.full->state = 0;  // [read]
}

// Each of two warps takes every second phase, always by the same parity, and knows of the one between from the other.
__global__ void two_groups_in_turns(const Maps*, int* out) {
  Plan plan(1, 32);
  for (int turn = 0; turn < 6; ++turn) {
    if (warp() == 2) {
      if (lane() == 0) {
        mbarrier_wait(plan.empty, unsigned(turn & 1) ^ 1);
        plan.tile[0] = half();
        mbarrier_arrive(plan.full);
      }
      continue;
    }
    if (turn % 2 == warp()) {
      mbarrier_wait(plan.full, unsigned(warp()));
      out[threadIdx.x] += bits(plan.tile[0]);
      mbarrier_arrive(plan.empty);
    }
    barrier_sync(1, 64);
  }
}

// --- places and ends -------------------------------------------------------------------------------------------------

__global__ void tile_off_pattern(const Maps* maps, int*) {
  Plan plan(2);
  if (threadIdx.x == 0) {
    mbarrier_arrive_expect_tx(plan.full, BOX);
    tma_load_2d(plan.tile + 64, &maps->swizzled, 0, 0, plan.full);  // [load]
  }
  mbarrier_wait(plan.full, 0);
}

__global__ void tile_on_pattern(const Maps* maps, int*) {
  Plan plan(2);
  if (threadIdx.x == 0) {
    mbarrier_arrive_expect_tx(plan.full, BOX);
    tma_load_2d(plan.tile + ITEMS, &maps->swizzled, 0, 0, plan.full);
  }
  mbarrier_wait(plan.full, 0);
}

__global__ void load_never_waited(const Maps* maps, int*) {
  Plan plan;
  if (threadIdx.x == 0) {
    mbarrier_arrive_expect_tx(plan.full, BOX);
    tma_load_2d(plan.tile, &maps->in, 0, 0, plan.full);  // [load]
  }
}

__global__ void store_never_waited(const Maps* maps, int*) {
  Plan plan;
  if (threadIdx.x) return;
  for (int i = 0; i < ITEMS; ++i) plan.tile[i] = half();
  fence_proxy_async();
  tma_store_2d(&maps->out, plan.tile, 0, 0);  // [load]
  bulk_commit();
}

__global__ void store_never_committed(const Maps* maps, int*) {
  Plan plan;
  if (threadIdx.x) return;
  for (int i = 0; i < ITEMS; ++i) plan.tile[i] = half();
  fence_proxy_async();
  tma_store_2d(&maps->out, plan.tile, 0, 0);  // [load]
  bulk_wait_read<0>();
}

}  // namespace lab::async_kernels
