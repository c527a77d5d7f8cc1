// mbarriers, and what is in flight when a block ends (rules.hpp).
#include "checks/tests/async_plan.hpp"
#include "common/ptx/barrier.cuh"

namespace lab::rules {
namespace {

// --- initialisation ------------------------------------------------------------------------------

// Thread 33 loads after thread 0's mbarrier.init.
template <class Fence>
__device__ __forceinline__ void load_after_init(const Maps* maps, Fence fence) {
  AlignedSmemCursor cursor;
  half* tile = cursor.array<half, SWIZZLE_ALIGN>("tile", 8, 64);
  MBarrier* full = cursor.array<MBarrier>("full", 1, 1);
  if (threadIdx.x == 0) mbarrier_init(full, 1), fence();  // [init]
  __syncthreads();
  if (threadIdx.x == 33) load(maps, tile, full);
  mbarrier_wait(full, 0);
}
RULE(init_fenced, finds(mbarrier, "init", "load", "no fence.mbarrier_init lies between").anywhere()) {
  load_after_init(maps, [=] { kept ? fence_mbarrier_init() : void(); });
}
RIGHT(init_fenced_for_the_proxy) { load_after_init(maps, fence_proxy_async); }

RULE(init_ordered, finds(mbarrier, "init", "use", "no barrier orders after its mbarrier.init").anywhere()) {
  AlignedSmemCursor cursor;
  MBarrier* full = cursor.array<MBarrier>("full", 1, 1);
  if (threadIdx.x == 0) mbarrier_init(full, 1), fence_mbarrier_init();  // [init]
  kept ? __syncthreads() : void(__shfl_sync(0xFFFFFFFFu, 1, 0));        // warp 0 meets, and nothing is ordered by it
  if (threadIdx.x == 7) mbarrier_arrive(full);                          // [use]
  if (threadIdx.x == 0) mbarrier_wait(full, 0);
}

// --- arrivals and waits --------------------------------------------------------------------------

// Warp 0 does something at `empty`, which counts so many arrivals; the others wait there and read what it wrote. Whether it is read
// before it was written is the schedule's choice; that it is wrong is not.
constexpr Expect NOT_GIVEN = finds({inter, uninitialised}, "own", "read").either();
template <class Give>
__device__ __forceinline__ void given(int* out, unsigned arrivals, Give give) {
  Plan plan(1, arrivals);
  if (warp() == 0) return give(plan.tile, plan.empty);
  mbarrier_wait(plan.empty, 0);
  out[threadIdx.x] = bits(plan.tile[lane() ^ 9]);  // [read]
}

RULE(arrival_after_the_write, NOT_GIVEN) {
  given(out, 32, [=](half* tile, MBarrier* empty) {
    if (!kept) mbarrier_arrive(empty);
    tile[threadIdx.x] = half();  // [own]
    if (kept) mbarrier_arrive(empty);
  });
}

RULE(arrival_is_of_one_thread, NOT_GIVEN) {
  given(out, 1, [=](half* tile, MBarrier* empty) {
    tile[threadIdx.x] = half();  // [own]
    if (kept) __syncwarp();
    if (threadIdx.x == 0) mbarrier_arrive(empty);
  });
}

// Warp 0 writes; warp 1 hears of it and tells warp 2, or has told it before.
RULE(arrivals_chain, NOT_GIVEN) {
  Plan plan(2, 32);
  if (warp() == 0) {
    plan.tile[threadIdx.x] = half();  // [own]
    mbarrier_arrive(plan.empty);
  } else if (warp() == 1) {
    if (!kept) mbarrier_arrive(plan.empty + 1);
    mbarrier_wait(plan.empty, 0);
    if (kept) mbarrier_arrive(plan.empty + 1);
  } else {
    mbarrier_wait(plan.empty + 1, 0);
    out[threadIdx.x] = bits(plan.tile[lane()]);  // [read]
  }
}

RULE(phase_seen, finds(mbarrier, "again", nullptr, "is complete before anybody has seen phase 0 complete")
                     .among_others()
                     .anywhere()) {
  Plan plan;
  if (threadIdx.x == 0) {
    mbarrier_arrive(plan.empty);
    if (kept) mbarrier_wait(plan.empty, 0);
    mbarrier_arrive(plan.empty);  // [again]
    if (kept) mbarrier_wait(plan.empty, 1);
    mbarrier_arrive(plan.empty);
  }
  __syncthreads();
  if (threadIdx.x == 0 || !kept) mbarrier_wait(plan.empty, 0);  // [wait]
}

// Warp 2 asks for the first phase of `empty` when its third is complete.
BROKEN(wait_late, finds(mbarrier, "wait", nullptr, "a wait that is late").anywhere()) {
  Plan plan;
  for (unsigned phase = 0; phase < 3 && threadIdx.x == 0; ++phase) {
    mbarrier_arrive(plan.empty);
    mbarrier_wait(plan.empty, phase & 1);
  }
  if (threadIdx.x != 64) return;
  for (int i = 0; i < 64; ++i) mbarrier_try_wait(plan.full, 0);  // some time
  mbarrier_wait(plan.empty, 0);                                  // [wait]
}

RULE(bytes_announced, finds({mbarrier, in_flight}, "load", "second", "more").anywhere()) {
  Plan plan(2);
  if (threadIdx.x == 0) {
    mbarrier_arrive_expect_tx(plan.full, kept ? 2 * BOX : BOX);
    tma_load_2d(plan.tile, &maps->in, 0, 0, plan.full);          // [load]
    tma_load_2d(plan.tile + ITEMS, &maps->in, 0, 8, plan.full);  // [second]
  }
  mbarrier_wait(plan.full, 0);
}

constexpr const char* NOT_DATA = "only mbarrier instructions may touch them";
BROKEN(barrier_read, finds(mbarrier, "own", nullptr, NOT_DATA)) {
  Plan plan;
  if (threadIdx.x == 3) out[3] = int(plan.full->state);  // [own]
}
BROKEN(barrier_written, finds(mbarrier, "own", nullptr, NOT_DATA)) {
  Plan plan;
  if (threadIdx.x == 3) plan.full->state = 0;  // [own]
}

// Each of two warps takes every second phase, always by the same parity, and knows of the one between from the other.
RIGHT(alternate_phases) {
  Plan plan(1, 32);
  for (int round = 0; round < 6; ++round) {
    if (warp() == 2) {
      if (lane() == 0) {
        mbarrier_wait(plan.empty, unsigned(round & 1) ^ 1);
        plan.tile[0] = half();
        mbarrier_arrive(plan.full);
      }
      continue;
    }
    if (round % 2 == warp()) {
      mbarrier_wait(plan.full, unsigned(warp()));
      out[threadIdx.x] += bits(plan.tile[0]);
      mbarrier_arrive(plan.empty);
    }
    barrier_sync(1, 64);
  }
}

// --- places and ends -----------------------------------------------------------------------------

RULE(tile_on_the_pattern, finds(misaligned, "swizzled", nullptr, "repeats every 1024 bytes").anywhere()) {
  Plan plan(2);
  if (threadIdx.x == 0) mbarrier_arrive_expect_tx(plan.full, BOX);
  half* const tile = plan.tile + (kept ? ITEMS : 64);
  if (threadIdx.x == 0) tma_load_2d(tile, &maps->swizzled, 0, 0, plan.full);  // [swizzled]
  mbarrier_wait(plan.full, 0);
}

RULE(load_waited_for_before_the_end, finds(in_flight, "load", nullptr, "no thread had waited for phase 0").anywhere()) {
  Plan plan;
  if (threadIdx.x == 0) load(maps, plan.tile, plan.full);
  if (threadIdx.x == 0 && kept) mbarrier_wait(plan.full, 0);
}

RULE(store_waited_for_before_the_end, finds(in_flight, "own", nullptr, "no thread had waited until this store")) {
  Plan plan;
  if (threadIdx.x) return;
  fill(plan.tile, 0, 1);
  fence_proxy_async();
  tma_store_2d(&maps->out, plan.tile, 0, 0);  // [own]
  bulk_commit();
  if (kept) bulk_wait_read<0>();
}

RULE(store_committed, finds(in_flight, "own", nullptr, "no thread had waited until this store")) {
  Plan plan;
  if (threadIdx.x) return;
  fill(plan.tile, 0, 1);
  fence_proxy_async();
  tma_store_2d(&maps->out, plan.tile, 0, 0);  // [own]
  if (kept) bulk_commit();
  bulk_wait_read<0>();
}

}  // namespace
}  // namespace lab::rules
