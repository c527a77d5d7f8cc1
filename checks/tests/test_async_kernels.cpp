// Asynchronous work: for each rule of TMA and the asynchronous proxy kernels that keep it and kernels that break it
// (checks/tests/checked.hpp).
#include <cuda_pipeline.h>

#include "checks/tests/async_plan.hpp"
#include "checks/tests/test_async_products.hpp"
#include "common/ptx/barrier.cuh"

namespace lab::checked {
namespace {

using async_tests::product_issue;
using async_tests::product_wait;

constexpr const char* NO_WAIT = "the copy engine may still write here: no wait for its mbarrier comes before";
constexpr const char* NO_FENCE = "no fence.proxy.async by a thread that sees the write comes before";
constexpr const char* STILL_READ = "asynchronous work may still read here: nothing orders the write after its wait";

__device__ __forceinline__ void load(const Maps* maps, half* tile, MBarrier* full, int row = 0) {
  mbarrier_arrive_expect_tx(full, BOX);
  tma_load_2d(tile, &maps->in, 0, row, full);  // [load]
}
__device__ __forceinline__ void load(const Maps* maps, const Plan& plan) { load(maps, plan.tile, plan.full); }
__device__ __forceinline__ void store(const Maps* maps, const half* tile, int row = 0) {
  tma_store_2d(&maps->out, tile, 0, row);  // [store]
  bulk_commit();
}
__device__ __forceinline__ void store_waited(const Maps* maps, const half* tile) {
  store(maps, tile);
  bulk_wait_read<0>();
}
__device__ __forceinline__ void fill(half* tile, int first = int(threadIdx.x), int step = int(blockDim.x)) {
  for (int i = first; i < ITEMS; i += step) tile[i] = half();  // [write]
}
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

__device__ __forceinline__ void load_and_wait(const Maps* maps, const Plan& plan) {
  if (threadIdx.x != 0) return;
  load(maps, plan);
  mbarrier_wait(plan.full, 0);
}

CHECKED(load_one_waits_then_syncwarp, silent()) {
  Plan plan;
  load_and_wait(maps, plan);
  __syncwarp();
  if (warp() == 0) out[threadIdx.x] = bits(plan.tile[threadIdx.x]);
}

CHECKED(load_one_waits_then_barrier, silent()) {
  Plan plan;
  load_and_wait(maps, plan);
  __syncthreads();
  out[threadIdx.x] = bits(plan.tile[threadIdx.x]);
}

CHECKED(load_one_waits_then_mbarrier, silent()) {
  Plan plan;
  load_and_wait(maps, plan);
  if (threadIdx.x == 0) mbarrier_arrive(plan.empty);
  mbarrier_wait(plan.empty, 0);
  out[threadIdx.x] = bits(plan.tile[threadIdx.x]);
}

CHECKED(load_one_waits_then_named, silent()) {
  Plan plan;
  load_and_wait(maps, plan);
  __syncwarp();
  if (warp() == 0) barrier_arrive(1, 64);
  if (warp() != 1) return;
  barrier_sync(1, 64);
  out[threadIdx.x] = bits(plan.tile[threadIdx.x]);
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

CHECKED(store_fenced, silent()) {
  Plan plan;
  fill(plan.tile);
  fence_proxy_async();
  __syncthreads();
  if (threadIdx.x == 64) store_waited(maps, plan.tile);
}

CHECKED(store_unfenced, finds(proxy, {"write", "store"}, NO_FENCE)) {
  Plan plan;
  fill(plan.tile);
  __syncthreads();
  if (threadIdx.x == 64) store_waited(maps, plan.tile);
}

CHECKED(store_fenced_by_issuer, silent()) {
  Plan plan;
  fill(plan.tile);
  __syncthreads();
  if (threadIdx.x != 64) return;
  fence_proxy_async();
  store_waited(maps, plan.tile);
}

CHECKED(store_fence_before_write, finds(proxy, {"write", "store"}, NO_FENCE)) {
  Plan plan;
  fence_proxy_async();
  fill(plan.tile);
  __syncthreads();
  if (threadIdx.x == 64) store_waited(maps, plan.tile);
}

// Warp 1 fences what it has not seen.
CHECKED(store_fenced_by_stranger, finds(proxy, {"write", "store"}, NO_FENCE)) {
  Plan plan;
  if (warp() == 0) fill(plan.tile, lane(), 32);
  if (warp() == 1) fence_proxy_async();
  __syncthreads();
  if (threadIdx.x == 64) store_waited(maps, plan.tile);
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

CHECKED(store_of_cp_async_fenced, silent()) {
  Plan plan;
  copy(maps, plan.tile);
  fence_proxy_async();
  __syncthreads();
  if (threadIdx.x == 64) store_waited(maps, plan.tile);
}

CHECKED(store_of_cp_async_unfenced, finds(proxy, {"copy", "store"}, NO_FENCE)) {
  Plan plan;
  copy(maps, plan.tile);
  __syncthreads();
  if (threadIdx.x == 64) store_waited(maps, plan.tile);
}

CHECKED(load_over_written_fenced, silent()) {
  Plan plan;
  fill(plan.tile);
  fence_proxy_async();
  __syncthreads();
  if (threadIdx.x == 0) load(maps, plan);
  mbarrier_wait(plan.full, 0);
  out[threadIdx.x] = bits(plan.tile[threadIdx.x]);
}

CHECKED(load_over_written_unfenced, finds(proxy, {"write", "load"}, NO_FENCE)) {
  Plan plan;
  fill(plan.tile);
  __syncthreads();
  if (threadIdx.x == 0) load(maps, plan);
  mbarrier_wait(plan.full, 0);
  out[threadIdx.x] = bits(plan.tile[threadIdx.x]);
}

// --- readers before writers ------------------------------------------------------------------------------------------

constexpr int ROUNDS = 7, SLOTS = 2;

// A thread loads into each slot when it is free, two warps wait for the load and consume(slot).
template <class Consume>
__device__ __forceinline__ void ring(const Maps* maps, unsigned empties, unsigned producer, Consume consume,
                                     int slots = SLOTS, int rounds = ROUNDS) {
  Plan plan(slots, empties);
  for (int round = 0; round < rounds; ++round) {
    const int slot = round % slots;
    const unsigned parity = round / slots & 1;
    if (threadIdx.x == producer) {
      mbarrier_wait(plan.empty + slot, parity ^ 1);
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

// Two warps' products read the slot; warp 2 loads into it.
CHECKED(product_waited, silent()) {
  ring(maps, 64, 64, [&](half* tile, MBarrier* empty) {
    product_issue(tile, BOX, 2);
    product_wait(2);
    mbarrier_arrive(empty);
  });
}

CHECKED(product_freed_early, finds(inter, {"load", "read"}, STILL_READ)) {
  ring(maps, 64, 64, [&](half* tile, MBarrier* empty) {
    product_issue(tile, BOX, 2);  // [read]
    mbarrier_arrive(empty);
    product_wait(2);
  });
}

// A warp's wait says nothing of the other warp's part of the product.
CHECKED(product_one_warp_frees, finds(inter, {"load", "read"}, STILL_READ)) {
  ring(maps, 32, 64, [&](half* tile, MBarrier* empty) {
    product_issue(tile, BOX, 2);  // [read]
    product_wait(2);
    if (warp() == 0) mbarrier_arrive(empty);
  });
}

CHECKED(product_one_warp_waits, finds(inter, {"load", "read"}, STILL_READ)) {
  const auto consume = [&](half* tile, MBarrier* empty) {
    product_issue(tile, BOX, 2);  // [read]
    if (warp() == 0) product_wait(2);
    barrier_sync(2, 64);
    mbarrier_arrive(empty);
    if (warp() == 1) product_wait(2);
  };
  ring(maps, 64, 64, consume, 1, 2);
}

CHECKED(product_unfenced, finds(proxy, {"write", "work"}, NO_FENCE)) {
  Plan plan;
  fill(plan.tile);
  __syncthreads();
  if (warp() == 2) return;
  product_issue(plan.tile, BOX, 2);  // [work]
  product_wait(2);
}

CHECKED(product_before_load, finds(before_phase, {"load", "read"})) {
  Plan plan;
  if (threadIdx.x == 64) load(maps, plan);
  __syncthreads();
  if (warp() == 0) mbarrier_wait(plan.full, 0);  // warp 1 does not
  if (warp() == 2) return;
  product_issue(plan.tile, BOX, 2);  // [read]
  product_wait(2);
}

CHECKED(product_overwritten, finds({inter, intra}, {"read", "over"}, STILL_READ)) {
  Plan plan;
  fill(plan.tile);
  fence_proxy_async();
  __syncthreads();
  if (warp() < 2) product_issue(plan.tile, BOX, 2);  // [read]
  __syncthreads();
  if (threadIdx.x == 40) plan.tile[3] = half();  // [over]
  if (warp() < 2) product_wait(2);
}

}  // namespace
}  // namespace lab::checked
