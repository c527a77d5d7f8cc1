// Asynchronous work: for each rule of TMA and the asynchronous proxy kernels that keep it and kernels that break it
// (checks/tests/checked.hpp).
#include <cuda_pipeline.h>

#include "checks/tests/async_plan.hpp"
#include "common/ptx/barrier.cuh"
#include "common/ptx/wgmma.cuh"

namespace lab::checked {
namespace {

constexpr const char* NO_WAIT = "the copy engine may still write here: no wait for its mbarrier comes before";
constexpr const char* NO_FENCE = "no fence.proxy.async by a thread that sees the write comes before";
constexpr const char* STILL_READ = "asynchronous work may still read here: nothing orders the write after its wait";

__device__ __forceinline__ void copy(const Maps* maps, half* tile) {
  for (int i = threadIdx.x * 8; i < ITEMS; i += blockDim.x * 8)
    __pipeline_memcpy_async(tile + i, maps->data + i, 16);  // [copy]
  __pipeline_commit();
  __pipeline_wait_prior(0);
}

// --- loads and their waits ---------------------------------------------------------------------------------------

CHECKED(load_waited, silent()) {
  Plan plan;
  if (threadIdx.x == 32) load(maps, plan);
  mbarrier_wait(plan.full, 0);
  out[threadIdx.x] = bits(plan.tile[threadIdx.x]);
}

CHECKED(load_not_waited, finds(before_phase, {"load", "read"}, NO_WAIT)) {
  Plan plan;
  if (threadIdx.x == 0) load(maps, plan);
  __syncthreads();
  if (threadIdx.x == 9) out[9] = bits(plan.tile[5]);  // [read]
  mbarrier_wait(plan.full, 0);
}

CHECKED(load_wrong_parity, finds(before_phase, {"load", "read"}, NO_WAIT)) {
  Plan plan;
  mbarrier_wait(plan.full, 1);  // passes: that is the phase before the first
  __syncthreads();
  if (threadIdx.x == 0) load(maps, plan);
  __syncthreads();
  if (threadIdx.x == 40) out[40] = bits(plan.tile[70]);  // [read]
  mbarrier_wait(plan.full, 0);
}

CHECKED(load_written_unwaited, finds(before_phase, {"load", "read"}, NO_WAIT)) {
  Plan plan;
  if (threadIdx.x == 0) load(maps, plan);
  if (threadIdx.x == 0) plan.tile[7] = plan.tile[ITEMS - 1];  // [read]
  mbarrier_wait(plan.full, 0);
}

CHECKED(load_one_waits, finds(before_phase, {"load", "read"}, NO_WAIT)) {
  Plan plan;
  if (threadIdx.x == 0) load(maps, plan);
  __syncthreads();
  if (threadIdx.x == 0) mbarrier_wait(plan.full, 0);
  if (threadIdx.x == 0 || threadIdx.x == 3) out[threadIdx.x] = bits(plan.tile[5]);  // [read]
}

// Thread 0 waits; `then` says which threads are ordered after that, and read.
template <class Then>
__device__ __forceinline__ void one_waits(const Maps* maps, int* out, Then then) {
  Plan plan;
  if (threadIdx.x == 0) load(maps, plan), mbarrier_wait(plan.full, 0);
  if (then(plan)) out[threadIdx.x] = bits(plan.tile[threadIdx.x]);
}

CHECKED(load_one_waits_then_syncwarp, silent()) {
  one_waits(maps, out, [](const Plan&) { return __syncwarp(), warp() == 0; });
}

CHECKED(load_one_waits_then_barrier, silent()) {
  one_waits(maps, out, [](const Plan&) { return __syncthreads(), true; });
}

CHECKED(load_one_waits_then_mbarrier, silent()) {
  one_waits(maps, out, [](const Plan& plan) {
    if (threadIdx.x == 0) mbarrier_arrive(plan.empty);
    return mbarrier_wait(plan.empty, 0), true;
  });
}

CHECKED(load_one_waits_then_named, silent()) {
  one_waits(maps, out, [](const Plan&) {
    __syncwarp();
    if (warp() == 0) barrier_arrive(1, 64);
    if (warp() == 1) barrier_sync(1, 64);
    return warp() == 1;
  });
}

CHECKED(load_polled, silent()) {
  Plan plan;
  if (threadIdx.x == 0) load(maps, plan);
  if (warp() == 1 && !mbarrier_try_wait(plan.full, 0)) mbarrier_wait(plan.full, 0);
  if (warp() == 2)
    while (!mbarrier_try_wait(plan.full, 0)) {
    }
  if (warp()) out[threadIdx.x] = bits(plan.tile[threadIdx.x]);
}

CHECKED(load_twice_unwaited, finds(before_phase, {"load", "again"}, NO_WAIT)) {
  Plan plan;
  if (threadIdx.x == 0) {
    mbarrier_arrive_expect_tx(plan.full, 2 * BOX);
    tma_load_2d(plan.tile, &maps->in, 0, 0, plan.full);  // [load]
    tma_load_2d(plan.tile, &maps->in, 0, 8, plan.full);  // [again]
  }
  mbarrier_wait(plan.full, 0);
}

// --- fence.proxy.async ---------------------------------------------------------------------------------------------

// All write, and thread 64 stores behind a block barrier; `before` it and `after` it there may be a fence.
template <class Write, class Before, class After>
__device__ __forceinline__ void stored(const Maps* maps, Write write, Before before, After after) {
  Plan plan;
  write(plan.tile);
  before();
  __syncthreads();
  if (threadIdx.x != 64) return;
  after();
  store_waited(maps, plan.tile);
}
__device__ __forceinline__ void fill_all(half* tile) { fill(tile); }
__device__ __forceinline__ void no_fence() {}

CHECKED(store_fenced, silent()) { stored(maps, fill_all, fence_proxy_async, no_fence); }
CHECKED(store_fenced_by_issuer, silent()) { stored(maps, fill_all, no_fence, fence_proxy_async); }
CHECKED(store_unfenced, finds(proxy, {"write", "store"}, NO_FENCE)) { stored(maps, fill_all, no_fence, no_fence); }

CHECKED(store_fence_before_write, finds(proxy, {"write", "store"}, NO_FENCE)) {
  stored(
      maps, [](half* tile) { fence_proxy_async(), fill(tile); }, no_fence, no_fence);
}

// Warp 1 fences what it has not seen.
CHECKED(store_fenced_by_stranger, finds(proxy, {"write", "store"}, NO_FENCE)) {
  const auto by_two = [](half* tile) {
    if (warp() == 0) fill(tile, lane(), 32);
    if (warp() == 1) fence_proxy_async();
  };
  stored(maps, by_two, no_fence, no_fence);
}

CHECKED(store_of_cp_async_fenced, silent()) {
  stored(
      maps, [=](half* tile) { copy(maps, tile); }, fence_proxy_async, no_fence);
}

CHECKED(store_of_cp_async_unfenced, finds(proxy, {"copy", "store"}, NO_FENCE)) {
  stored(
      maps, [=](half* tile) { copy(maps, tile); }, no_fence, no_fence);
}

// Descending, the store comes first and reads what nothing has written.
CHECKED(store_no_barrier, finds({inter, uninitialised}, {"write", "store"}).sometimes().every()) {
  Plan plan;
  if (warp() == 0) fill(plan.tile, lane(), 32);
  fence_proxy_async();
  if (threadIdx.x != 64) return;
  mbarrier_wait(plan.full, 1);
  store_waited(maps, plan.tile);
}

template <class Fence>
__device__ __forceinline__ void load_over(const Maps* maps, int* out, Fence fence) {
  Plan plan;
  fill(plan.tile);
  fence();
  __syncthreads();
  if (threadIdx.x == 0) load(maps, plan);
  mbarrier_wait(plan.full, 0);
  out[threadIdx.x] = bits(plan.tile[threadIdx.x]);
}
CHECKED(load_over_written_fenced, silent()) { load_over(maps, out, fence_proxy_async); }
CHECKED(load_over_written_unfenced, finds(proxy, {"write", "load"}, NO_FENCE)) { load_over(maps, out, no_fence); }

// --- readers before writers ------------------------------------------------------------------------------------------

constexpr int ROUNDS = 7, SLOTS = 2;

// A thread loads into each slot when it is free, two warps wait for the load and consume(slot).
template <bool FENCES = true, class Consume>
__device__ __forceinline__ void ring(const Maps* maps, unsigned empties, unsigned producer, Consume consume,
                                     int slots = SLOTS, int rounds = ROUNDS) {
  Plan plan(slots, empties);
  for (int round = 0; round < rounds; ++round) {
    const int slot = round % slots;
    const unsigned parity = round / slots & 1;
    if (threadIdx.x == producer) {
      mbarrier_wait(plan.empty + slot, parity ^ 1);
      if (FENCES) fence_proxy_async();
      load(maps, plan.tile + slot * ITEMS, plan.full + slot, round * 8);
    } else if (threadIdx.x / 32 != producer / 32) {
      mbarrier_wait(plan.full + slot, parity);
      consume(plan.tile + slot * ITEMS, plan.empty + slot);
    }
  }
}

CHECKED(ring_kept, silent()) {
  ring(maps, 64, 0, [&](half* tile, MBarrier* empty) {
    out[threadIdx.x] += bits(tile[threadIdx.x]);
    mbarrier_arrive(empty);
  });
}

CHECKED(ring_fenced_by_readers, silent()) {
  ring<false>(maps, 64, 0, [&](half* tile, MBarrier* empty) {
    out[threadIdx.x] += bits(tile[threadIdx.x]);
    fence_proxy_async();
    mbarrier_arrive(empty);
  });
}

CHECKED(ring_unfenced,
        finds(proxy, {"read", "load"}, "no fence.proxy.async by a thread that sees the read comes before")) {
  ring<false>(maps, 64, 0, [&](half* tile, MBarrier* empty) {
    out[threadIdx.x] += bits(tile[threadIdx.x]);  // [read]
    mbarrier_arrive(empty);
  });
}

// Before the reads it is no fence of theirs.
CHECKED(ring_fenced_too_early, finds(proxy, {"read", "load"}, "that sees the read comes before")) {
  ring<false>(
      maps, 64, 0,
      [&](half* tile, MBarrier* empty) {
        fence_proxy_async();
        out[threadIdx.x] += bits(tile[threadIdx.x]);  // [read]
        mbarrier_arrive(empty);
      },
      1);
}

CHECKED(ring_freed_early, finds({inter, before_phase, mbarrier, deadlock}, {"load", "read"})) {
  ring(maps, 64, 0, [&](half* tile, MBarrier* empty) {
    mbarrier_arrive(empty);
    out[threadIdx.x] += bits(tile[threadIdx.x]);  // [read]
  });
}

// The schedule decides what shows first: the slot overwritten under a reader, a phase that a late warp misses, or a
// hang. Something does.
constexpr Expect SOMETHING = finds({inter, mbarrier, before_phase, deadlock, in_flight}, {}).sometimes();

CHECKED(ring_never_freed, SOMETHING) {
  Plan plan(SLOTS, 64);
  for (int slot = 0; slot < SLOTS; ++slot) {
    if (threadIdx.x == 0) load(maps, plan.tile + slot * ITEMS, plan.full + slot, slot * 8);
    if (threadIdx.x == 0 || warp()) mbarrier_wait(plan.full + slot, 0);
    if (warp()) out[threadIdx.x] += bits(plan.tile[slot * ITEMS + threadIdx.x]);
  }
  // Both slots are full; the next load comes without asking whether they are free.
  if (threadIdx.x == 0) load(maps, plan.tile, plan.full, 16);
  if (threadIdx.x == 0) mbarrier_wait(plan.full, 1);
}

CHECKED(ring_one_warp_counted, SOMETHING) {  // two come
  ring(maps, 32, 0, [&](half* tile, MBarrier* empty) {
    out[threadIdx.x] += bits(tile[threadIdx.x]);
    mbarrier_arrive(empty);
  });
}

CHECKED(ring_lane_frees_for_warp, silent()) {
  ring(maps, 2, 0, [&](half* tile, MBarrier* empty) {
    out[threadIdx.x] += bits(tile[threadIdx.x]);
    __syncwarp();
    if (lane() == 5) mbarrier_arrive(empty);
  });
}

CHECKED(ring_lane_frees_unsynced, finds({inter, before_phase, mbarrier, deadlock}, {"load", "read"})) {
  ring(maps, 2, 0, [&](half* tile, MBarrier* empty) {
    out[threadIdx.x] += bits(tile[threadIdx.x]);  // [read]
    if (lane() == 5) mbarrier_arrive(empty);
  });
}

CHECKED(store_overwritten, finds(intra, {"store", "over"}, STILL_READ)) {
  Plan plan;
  if (threadIdx.x) return;
  fill(plan.tile, 0, 1);
  fence_proxy_async();
  store(maps, plan.tile);
  plan.tile[17] = half();  // [over]
  bulk_wait_read<0>();
}

CHECKED(store_overwritten_after_wait, silent()) {
  Plan plan(2);
  if (threadIdx.x) return;
  fill(plan.tile, 0, 1), fill(plan.tile + ITEMS, 0, 1);
  fence_proxy_async();
  store(maps, plan.tile);
  store(maps, plan.tile + ITEMS, 8);
  bulk_wait_read<1>();
  plan.tile[17] = half();
  bulk_wait<0>();
  plan.tile[ITEMS + 17] = half();
}

CHECKED(store_overwritten_by_other, finds(inter, {"store", "over"}, STILL_READ)) {
  Plan plan;
  fill(plan.tile);
  fence_proxy_async();
  __syncthreads();
  if (threadIdx.x == 0) store(maps, plan.tile);
  __syncthreads();
  if (threadIdx.x == 50) plan.tile[17] = half();  // [over]
  if (threadIdx.x == 0) bulk_wait_read<0>();
}

CHECKED(store_overwritten_after_barrier, silent()) {
  Plan plan;
  for (int round = 0; round < 3; ++round) {
    fill(plan.tile);
    fence_proxy_async();
    __syncthreads();
    if (threadIdx.x == 0) store_waited(maps, plan.tile);
    __syncthreads();
  }
}

// --- products ----------------------------------------------------------------------------------------------------------

// A product in a group of its own whose B is the tile.
struct Product {
  float d[4] = {};
  unsigned a[4] = {};
  __device__ __forceinline__ void issue(const half* tile) {
    wgmma_fence();
    wgmma<8>(d, a, wgmma_descriptor(tile, 0, 1024), true);  // [read]
    wgmma_commit();
  }
};

constexpr Size WARPGROUP_AND_LOADER{160};
constexpr Expect freed_early() { return finds(inter, {"load", "read"}, STILL_READ, WARPGROUP_AND_LOADER); }

// A warpgroup's products read the slot; thread 128 loads into it.
CHECKED(product_waited, silent(WARPGROUP_AND_LOADER)) {
  ring(maps, 128, 128, [&](half* tile, MBarrier* empty) {
    Product product;
    product.issue(tile);
    wgmma_wait<0>();
    mbarrier_arrive(empty);
  });
}

CHECKED(product_freed_early, freed_early()) {
  ring(maps, 128, 128, [&](half* tile, MBarrier* empty) {
    Product product;
    product.issue(tile);
    mbarrier_arrive(empty);
    wgmma_wait<0>();
  });
}

// A warp's wait says nothing of the other warps' part of the product.
CHECKED(product_one_warp_frees, freed_early()) {
  ring(maps, 32, 128, [&](half* tile, MBarrier* empty) {
    Product product;
    product.issue(tile);
    wgmma_wait<0>();
    if (warp() == 0) mbarrier_arrive(empty);
  });
}

CHECKED(product_one_warp_waits, freed_early()) {
  const auto consume = [&](half* tile, MBarrier* empty) {
    Product product;
    product.issue(tile);
    if (warp() == 0) wgmma_wait<0>();
    barrier_sync(2, 128);
    mbarrier_arrive(empty);
    wgmma_wait<0>();
  };
  ring(maps, 128, 128, consume, 1, 2);
}

CHECKED(product_before_load, finds(before_phase, {"load", "read"}, "", WARPGROUP_AND_LOADER)) {
  Plan plan;
  if (threadIdx.x == 128) load(maps, plan);
  __syncthreads();
  if (warp() == 0) mbarrier_wait(plan.full, 0);  // the other warps do not
  if (warp() == 4) return;
  Product product;
  product.issue(plan.tile);
  wgmma_wait<0>();
}

}  // namespace
}  // namespace lab::checked
