// TMA's loads and stores, and the asynchronous proxy (rules.hpp).
#include <cuda_pipeline.h>

#include "checks/tests/async_plan.hpp"
#include "common/ptx/barrier.cuh"
#include "common/ptx/wgmma.cuh"

namespace lab::rules {
namespace {

constexpr const char* NO_WAIT = "the copy engine may still write here: no wait for its mbarrier comes before";
constexpr const char* NO_FENCE = "no fence.proxy.async by a thread that sees the write comes before";
constexpr const char* STILL_READ = "asynchronous work may still read here: nothing orders the write after its wait";

// --- loads and their waits -----------------------------------------------------------------------

RULE(load_waited_for, finds(before_phase, "load", "read", NO_WAIT)) {
  Plan plan;
  if (threadIdx.x == 0) load(maps, plan.tile, plan.full);
  __syncthreads();
  if (kept) mbarrier_wait(plan.full, 0);
  if (threadIdx.x == 9) out[9] = bits(plan.tile[5]);  // [read]
  mbarrier_wait(plan.full, 0);
}

RULE(load_waited_for_by_one, finds(before_phase, "load", "read", NO_WAIT)) {
  Plan plan;
  if (threadIdx.x == 0) load(maps, plan.tile, plan.full);
  __syncthreads();
  if (threadIdx.x == 0 || kept) mbarrier_wait(plan.full, 0);
  if (threadIdx.x == 0 || threadIdx.x == 3) out[threadIdx.x] = bits(plan.tile[5]);  // [read]
}

RULE(load_under_a_write, finds(before_phase, "load", "own", NO_WAIT)) {
  Plan plan;
  if (threadIdx.x == 0) {
    load(maps, plan.tile, plan.full);
    if (kept) mbarrier_wait(plan.full, 0);
    plan.tile[7] = half();  // [own]
  }
  mbarrier_wait(plan.full, 0);
}

RULE(load_over_a_load, finds(before_phase, "load", "again", NO_WAIT)) {
  Plan plan(2);
  if (threadIdx.x == 0) {
    mbarrier_arrive_expect_tx(plan.full, 2 * BOX);
    tma_load_2d(plan.tile, &maps->in, 0, 0, plan.full);                       // [load]
    tma_load_2d(plan.tile + (kept ? ITEMS : 0), &maps->in, 0, 8, plan.full);  // [again]
  }
  mbarrier_wait(plan.full, 0);
}

// Thread 0 waits, and hands on what it has seen: to its warp, by a named barrier, by an mbarrier.
RIGHT(load_handed_on) {
  Plan plan;
  if (threadIdx.x == 0) load(maps, plan.tile, plan.full), mbarrier_wait(plan.full, 0);
  if (threadIdx.x == 0) mbarrier_arrive(plan.empty);
  __syncwarp();
  if (warp() == 0) barrier_arrive(1, 64);
  if (warp() == 1) barrier_sync(1, 64);
  if (warp() == 2) mbarrier_wait(plan.empty, 0);
  out[threadIdx.x] = bits(plan.tile[threadIdx.x]);
}

RIGHT(load_polled) {
  Plan plan;
  if (threadIdx.x == 0) load(maps, plan.tile, plan.full);
  if (warp() == 1 && !mbarrier_try_wait(plan.full, 0)) mbarrier_wait(plan.full, 0);
  if (warp() == 2)
    while (!mbarrier_try_wait(plan.full, 0)) {
    }
  if (warp()) out[threadIdx.x] = bits(plan.tile[threadIdx.x]);
}

// --- fence.proxy.async ---------------------------------------------------------------------------

// Thread 64 stores what others have written, behind a block barrier.
template <class Write>
__device__ __forceinline__ void stored(const Maps* maps, Write write) {
  Plan plan;
  write(plan.tile);
  __syncthreads();
  if (threadIdx.x == 64) store(maps, plan.tile), bulk_wait_read<0>();
}

RULE(fence_after_the_write, finds(proxy, "write", "store", NO_FENCE)) {
  stored(maps, [=](half* tile) {
    if (!kept) fence_proxy_async();
    fill(tile);
    if (kept) fence_proxy_async();
  });
}

// Warp 1 fences what it has not seen.
RULE(fence_by_who_sees_the_write, finds(proxy, "write", "store", NO_FENCE)) {
  stored(maps, [=](half* tile) {
    if (warp() == 0) fill(tile, lane(), 32);
    if (kept) __syncthreads();
    if (warp() == 1) fence_proxy_async();
  });
}

RULE(fence_after_cp_async, finds(proxy, "copy", "store", NO_FENCE)) {
  stored(maps, [=](half* tile) {
    for (int i = int(threadIdx.x) * 8; i < ITEMS; i += int(blockDim.x) * 8)
      __pipeline_memcpy_async(tile + i, maps->data + i, 16);  // [copy]
    __pipeline_commit();
    __pipeline_wait_prior(0);
    if (kept) fence_proxy_async();
  });
}

RULE(fence_before_a_load, finds(proxy, "write", "load", NO_FENCE)) {
  Plan plan;
  fill(plan.tile);
  if (kept) fence_proxy_async();
  __syncthreads();
  if (threadIdx.x == 0) load(maps, plan.tile, plan.full);
  mbarrier_wait(plan.full, 0);
  out[threadIdx.x] = bits(plan.tile[threadIdx.x]);
}

// Descending, the store comes first and reads what nothing has written.
RULE(barrier_before_a_store, finds({inter, uninitialised}, "write", "store").either()) {
  Plan plan;
  if (warp() == 0) fill(plan.tile, lane(), 32);
  fence_proxy_async();
  if (kept) __syncthreads();
  if (threadIdx.x != 64) return;
  mbarrier_wait(plan.full, 1);
  store(maps, plan.tile), bulk_wait_read<0>();
}

// --- readers before writers ----------------------------------------------------------------------

// A thread loads into each slot when it is free, warps wait for the load and consume(slot).
template <bool FENCES = true, class Consume>
__device__ __forceinline__ void ring(const Maps* maps, unsigned empties, unsigned producer, int slots, int rounds,
                                     Consume consume) {
  Plan plan(slots, empties);
  for (int round = 0; round < rounds; ++round) {
    const int slot = round % slots;
    const unsigned parity = unsigned(round / slots) & 1;
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

// Before the reads a fence is none of theirs.
RULE(fence_after_the_reads, finds(proxy, "read", "load", "no fence.proxy.async by a thread that sees the read")) {
  ring<false>(maps, 64, 0, 1, 7, [&](half* tile, MBarrier* empty) {
    if (!kept) fence_proxy_async();
    out[threadIdx.x] += bits(tile[threadIdx.x]);  // [read]
    if (kept) fence_proxy_async();
    mbarrier_arrive(empty);
  });
}

// The schedule chooses which shows first: a slot overwritten under a reader, a phase that a late warp misses, or a hang.
constexpr Expect FREED_EARLY = finds({inter, before_phase, mbarrier, deadlock}, "load", "read");
RULE(slot_freed_after_its_reads, FREED_EARLY) {
  ring(maps, 64, 0, 2, 7, [&](half* tile, MBarrier* empty) {
    if (!kept) mbarrier_arrive(empty);
    out[threadIdx.x] += bits(tile[threadIdx.x]);  // [read]
    if (kept) mbarrier_arrive(empty);
  });
}

RULE(slot_freed_by_a_lane_for_its_warp, FREED_EARLY) {
  ring(maps, 2, 0, 2, 7, [&](half* tile, MBarrier* empty) {
    out[threadIdx.x] += bits(tile[threadIdx.x]);  // [read]
    if (kept) __syncwarp();
    if (lane() == 5) mbarrier_arrive(empty);
  });
}

RULE(slot_counts_all_its_readers, finds({inter, mbarrier, before_phase, deadlock, in_flight}, nullptr).or_another()) {
  ring(maps, kept ? 64 : 32, 0, 2, 7, [&](half* tile, MBarrier* empty) {
    out[threadIdx.x] += bits(tile[threadIdx.x]);
    mbarrier_arrive(empty);
  });
}

RULE(store_waited_for, finds(intra, "store", "over", STILL_READ)) {
  Plan plan;
  if (threadIdx.x) return;
  fill(plan.tile, 0, 1);
  fence_proxy_async();
  store(maps, plan.tile);
  if (kept) bulk_wait_read<0>();
  plan.tile[17] = half();  // [over]
  bulk_wait_read<0>();
}

RULE(store_of_the_last_group, finds(intra, "store", "over", STILL_READ)) {
  Plan plan(2);
  if (threadIdx.x) return;
  fill(plan.tile, 0, 1), fill(plan.tile + ITEMS, 0, 1);
  fence_proxy_async();
  store(maps, plan.tile);
  store(maps, plan.tile + ITEMS, 8);
  bulk_wait_read<1>();
  plan.tile[kept ? 17 : ITEMS + 17] = half();  // [over]
  bulk_wait<0>();
}

RULE(store_waited_for_by_its_issuer, finds(inter, "store", "over", STILL_READ)) {
  Plan plan;
  fill(plan.tile);
  fence_proxy_async();
  __syncthreads();
  if (threadIdx.x == 0) store(maps, plan.tile);
  if (threadIdx.x == 0 && kept) bulk_wait_read<0>();
  __syncthreads();
  if (threadIdx.x == 50) plan.tile[17] = half();  // [over]
  if (threadIdx.x == 0) bulk_wait_read<0>();
}

// --- products ------------------------------------------------------------------------------------

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
// A warpgroup's products read the slot; thread 128 loads into it.
template <class Consume>
__device__ __forceinline__ void products(const Maps* maps, unsigned empties, Consume consume) {
  ring(maps, empties, 128, 1, 3, [&](half* tile, MBarrier* empty) {
    Product product;
    product.issue(tile);
    consume(empty);
    wgmma_wait<0>();
  });
}
constexpr Expect UNDER_A_PRODUCT = finds(inter, "load", "read", STILL_READ).of({160});

RULE(slot_freed_after_its_product, UNDER_A_PRODUCT) {
  products(maps, 128, [=](MBarrier* empty) {
    if (kept) wgmma_wait<0>();
    mbarrier_arrive(empty);
  });
}

// A warp's wait says nothing of the other warps' part of the product.
RULE(slot_freed_by_all_warps, UNDER_A_PRODUCT) {
  products(maps, kept ? 128 : 32, [=](MBarrier* empty) {
    wgmma_wait<0>();
    if (kept || warp() == 0) mbarrier_arrive(empty);
  });
}

RULE(product_waited_for_by_all_warps, UNDER_A_PRODUCT) {
  products(maps, 128, [=](MBarrier* empty) {
    if (kept || warp() == 0) wgmma_wait<0>();
    barrier_sync(2, 128);
    mbarrier_arrive(empty);
  });
}

RULE(load_waited_for_by_all_warps, finds(before_phase, "load", "read").of({160})) {
  Plan plan;
  if (threadIdx.x == 128) load(maps, plan.tile, plan.full);
  __syncthreads();
  if (warp() == 0 || kept) mbarrier_wait(plan.full, 0);
  if (warp() == 4) return;
  Product product;
  product.issue(plan.tile);
  wgmma_wait<0>();
}

}  // namespace
}  // namespace lab::rules
