// mbarriers, and what is in flight when a block ends: for each rule kernels that keep it and kernels that break it
// (checks/tests/checked.hpp).
#include "checks/tests/async_plan.hpp"
#include "common/ptx/barrier.cuh"

namespace lab::checked {
namespace {

// --- mbarriers -----------------------------------------------------------------------------------------------------

// A barrier that thread 0 initialises and fences so; thread 33 loads.
template <class Fence>
__device__ __forceinline__ void load_after(const Maps* maps, Fence fence) {
  AlignedSmemCursor cursor;
  half* tile = cursor.array<half, SWIZZLE_ALIGN>("tile", 8, 64);
  MBarrier* full = cursor.array<MBarrier>("full", 1, 1);
  if (threadIdx.x == 0) mbarrier_init(full, 1);  // [init]
  if (threadIdx.x == 0) fence();
  __syncthreads();
  if (threadIdx.x == 33) load(maps, tile, full);
  mbarrier_wait(full, 0);
}

CHECKED(init_fenced, silent()) { load_after(maps, fence_mbarrier_init); }
CHECKED(init_proxy_fenced, silent()) { load_after(maps, fence_proxy_async); }
CHECKED(init_not_fenced, finds(mbarrier, {"init", "load"}, "no fence.mbarrier_init lies between").anywhere()) {
  load_after(maps, [] {});
}

CHECKED(init_not_ordered, finds(mbarrier, {"init", "use"}, "no barrier orders after its mbarrier.init").anywhere()) {
  AlignedSmemCursor cursor;
  MBarrier* full = cursor.array<MBarrier>("full", 1, 1);
  if (threadIdx.x == 0) {
    mbarrier_init(full, 1);  // [init]
    fence_mbarrier_init();
  }
  __shfl_sync(0xFFFFFFFFu, 1, 0);               // warp 0 meets, and nothing is ordered by it
  if (threadIdx.x == 7) mbarrier_arrive(full);  // [use]
  if (threadIdx.x == 0) mbarrier_wait(full, 0);
}

// Warp 0 does something at `empty`, which counts so many arrivals; the others wait there and read what it wrote.
template <class Give>
__device__ __forceinline__ void given(int* out, unsigned arrivals, Give give) {
  Plan plan(1, arrivals);
  if (warp() == 0) return give(plan.tile, plan.empty);
  mbarrier_wait(plan.empty, 0);
  out[threadIdx.x] = bits(plan.tile[lane() ^ 9]);  // [read]
}

CHECKED(arrive_orders, silent()) {
  given(out, 32, [](half* tile, MBarrier* empty) { tile[threadIdx.x] = half(), mbarrier_arrive(empty); });
}

// Whether it is read before it was written is the schedule's choice; that it is wrong is not.
CHECKED(arrive_written_after, finds({inter, uninitialised}, {"own", "read"}).sometimes().every()) {
  given(out, 32, [](half* tile, MBarrier* empty) {
    mbarrier_arrive(empty);
    tile[threadIdx.x] = half();  // [own]
  });
}

CHECKED(arrive_is_of_one_thread, finds({inter, uninitialised}, {"own", "read"})) {
  given(out, 1, [](half* tile, MBarrier* empty) {
    tile[threadIdx.x] = half();  // [own]
    if (threadIdx.x == 0) mbarrier_arrive(empty);
  });
}

CHECKED(arrive_after_syncwarp, silent()) {
  given(out, 1, [](half* tile, MBarrier* empty) {
    tile[threadIdx.x] = half();
    __syncwarp();
    if (threadIdx.x == 0) mbarrier_arrive(empty);
  });
}

// Warp 0 writes, warp 1 hears of it and tells warp 2.
CHECKED(arrive_chain, silent()) {
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

CHECKED(phase_unseen,
        finds(mbarrier, {"again", "wait"}, "is complete before anybody has seen phase 0 complete").anywhere()) {
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
CHECKED(wait_late, finds(mbarrier, {"wait"}, "a wait that is late").anywhere()) {
  Plan plan;
  for (unsigned phase = 0; phase < 3 && threadIdx.x == 0; ++phase) {
    mbarrier_arrive(plan.empty);
    mbarrier_wait(plan.empty, phase & 1);
  }
  if (threadIdx.x != 64) return;
  for (int i = 0; i < 64; ++i) mbarrier_try_wait(plan.full, 0);  // some time
  mbarrier_wait(plan.empty, 0);                                  // [wait]
}

CHECKED(bytes_too_many, finds({mbarrier, in_flight}, {"load", "load2"}, "more").anywhere()) {
  Plan plan(2);
  if (threadIdx.x == 0) {
    load(maps, plan);
    tma_load_2d(plan.tile + ITEMS, &maps->in, 0, 8, plan.full);  // [load2]
  }
  mbarrier_wait(plan.full, 0);
}

CHECKED(barrier_bytes_read, finds(mbarrier, {"read"}, "only mbarrier instructions may touch them")) {
  Plan plan;
  if (threadIdx.x == 3) out[3] = int(plan.full->state);  // [read]
}

CHECKED(barrier_bytes_written, finds(mbarrier, {"own"}, "only mbarrier instructions may touch them")) {
  Plan plan;
  if (threadIdx.x == 3) plan.full->state = 0;  // [own]
}

// Each of two warps takes every second phase, always by the same parity, and knows of the one between from the other.
CHECKED(two_groups_in_turns, silent()) {
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

__device__ __forceinline__ void load_swizzled(const Maps* maps, int place) {
  Plan plan(2);
  if (threadIdx.x == 0) mbarrier_arrive_expect_tx(plan.full, BOX);
  if (threadIdx.x == 0) tma_load_2d(plan.tile + place, &maps->swizzled, 0, 0, plan.full);  // [swizzled]
  mbarrier_wait(plan.full, 0);
}
CHECKED(tile_on_pattern, silent()) { load_swizzled(maps, ITEMS); }
CHECKED(tile_off_pattern, finds(misaligned, {"swizzled"}, "repeats every 1024 bytes").anywhere()) {
  load_swizzled(maps, 64);
}

CHECKED(load_never_waited, finds(in_flight, {"load"}, "no thread had waited for phase 0").anywhere()) {
  Plan plan;
  if (threadIdx.x == 0) load(maps, plan);
}

CHECKED(store_never_waited, finds(in_flight, {"store"}, "no thread had waited until this store")) {
  Plan plan;
  if (threadIdx.x) return;
  fill(plan.tile, 0, 1);
  fence_proxy_async();
  store(maps, plan.tile);
}

CHECKED(store_never_committed, finds(in_flight, {"own"}, "no thread had waited until this store")) {
  Plan plan;
  if (threadIdx.x) return;
  fill(plan.tile, 0, 1);
  fence_proxy_async();
  tma_store_2d(&maps->out, plan.tile, 0, 0);  // [own]
  bulk_wait_read<0>();
}

}  // namespace
}  // namespace lab::checked
