// Clusters, and launches that may overlap the one before: kernels that break a rule (checks/tests/checked.hpp).
#include <cuda_pipeline.h>

#include "checks/tests/cluster_plan.hpp"

namespace lab::checked {
namespace {

constexpr Expect breaks(std::initializer_list<Finding::Kind> kinds, std::initializer_list<const char*> marks,
                        const char* words) {
  return finds(kinds, marks, words).sometimes();
}
constexpr Expect breaks(Finding::Kind kind, std::initializer_list<const char*> marks, const char* words) {
  return breaks({kind}, marks, words);
}
constexpr const char* MAY_WRITE = "the launch before may still write it: no thread of the block has passed";

CHECKED(store_before_start,
        breaks({before_start, inter, intra}, {"store"}, "tells this thread that the block has started").anywhere()) {
  Plan plan;
  if (thread7()) remote_store(mapa(plan.inbox, 1), 1.f);  // [store]
  cluster_sync();
}

CHECKED(exit_before_store, breaks(early_exit, {"store"}, "its shared memory may be gone")) {
  Met plan;
  if (thread7()) remote_store(mapa(plan.inbox, 1), 1.f);  // [store]
}

CHECKED(exit_before_load, breaks(early_exit, {"load"}, "its shared memory may be gone")) {
  Met plan;
  if (thread7()) result(out) = remote_load(mapa(plan.inbox, 1));  // [load]
}

CHECKED(exit_before_arrive, breaks(early_exit, {"arrive"}, "its shared memory may be gone")) {
  Met plan;
  if (thread7()) mbarrier_arrive(mapa(plan.full, 1));  // [arrive]
}

CHECKED(exit_before_st_async, breaks(early_exit, {"store"}, "no thread had waited for phase 0")) {
  Plan plan;
  if (me() == 0) mbarrier_arrive_expect_tx(plan.full, sizeof(float4));
  cluster_sync();
  if (thread7()) st_async(mapa(plan.inbox, 1), all(1), mapa(plan.full, 1));  // [store]
}

CHECKED(relaxed_hands_on_nothing, breaks({inter, intra}, {"store", "read"}, "no barrier and no mbarrier orders them")) {
  Met plan;
  const unsigned rank = cluster_rank(), next = after(rank);
  remote_store(mapa(plan.from(0), next), all(float(rank)));  // [store]
  cluster_arrive_relaxed();
  cluster_wait();
  result(out) = sum(plan.inbox[me()]);  // [read]
  cluster_sync();
}

CHECKED(read_before_barrier, breaks({inter, intra}, {"store", "read"}, "no barrier and no mbarrier orders them")) {
  Met plan;
  if (thread7()) remote_store(mapa(plan.inbox, 1), 1.f);  // [store]
  __syncthreads();
  if (cluster_rank() == 1 && me() == 7) result(out) = plan.inbox[0].x;  // [read]
  cluster_sync();
}

CHECKED(read_before_bytes, breaks({before_phase, inter, intra}, {"store", "read"}, "may still write here")) {
  Plan plan;
  if (me() == 0) mbarrier_arrive_expect_tx(plan.full, sizeof(float4));
  cluster_sync();
  if (thread7()) st_async(mapa(plan.inbox, 1), all(1), mapa(plan.full, 1));  // [store]
  if (cluster_rank() == 1) {
    if (me() == 9) result(out) = plan.inbox[0].x;  // [read]
    mbarrier_wait_cluster(plan.full, 0);
  }
}

// Block 1 reads what block 0 wrote; block 0 writes again, and nothing orders that after the readers.
CHECKED(written_under_readers, breaks({inter, intra}, {"store", "read"}, "(WAR)")) {
  Met plan;
  if (thread7()) remote_store(mapa(plan.inbox, 1), 1.f);
  cluster_sync();
  if (cluster_rank() == 1 && me() == 9) result(out) = plan.inbox[0].x;  // [read]
  if (thread7()) remote_store(mapa(plan.inbox, 1), 2.f);                // [store]
  cluster_sync();
}

// Threads of the same number read in both blocks, the owner's first; its write is ordered after that one alone.
CHECKED(written_under_both_blocks, breaks(inter, {"load", "write"}, "(WAR)")) {
  Met plan;
  if (cluster_rank() == 0 && me() == 9) {
    mbarrier_wait_cluster(plan.empty, 0);
    result(out) = remote_load(mapa(plan.inbox, 1));  // [load]
  }
  if (cluster_rank() == 1) {
    if (me() == 9) result(out) = plan.inbox[0].x;
    if (me() == 9) mbarrier_arrive(mapa(plan.empty, 0));
    __syncthreads();
    for (int i = 0; i < 200 && me() >= 32; ++i) __syncwarp();
    if (me() == 40) plan.inbox[0].x = 2;  // [write]
  }
  cluster_sync();
}

CHECKED(st_async_over_write, breaks({inter, before_phase}, {"write", "store"}, "(WAW)")) {
  Plan plan;
  if (me() == 0) mbarrier_arrive_expect_tx(plan.full, sizeof(float4));
  cluster_sync();
  if (cluster_rank() == 1 && me() == 9) plan.inbox[0].x = 1;                 // [write]
  if (thread7()) st_async(mapa(plan.inbox, 1), all(1), mapa(plan.full, 1));  // [store]
  if (cluster_rank() == 1) mbarrier_wait_cluster(plan.full, 0);
}

// As queue_kept, but only one of the readers frees a slot, for all, and without a barrier before.
CHECKED(queue_overrun, breaks({inter, intra, before_phase, mbarrier, deadlock}, {"store", "read"}, "(WAR)")) {
  constexpr unsigned ITEMS = 6;
  Met plan;
  for (unsigned item = 0; item < ITEMS; ++item) {
    const unsigned slot = item % 2, use = item / 2;
    if (cluster_rank() == 0) {
      mbarrier_wait_cluster(plan.empty + slot, (use & 1) ^ 1);
      st_async(mapa(plan.from(slot), 1), all(float(item)), mapa(plan.full + slot, 1));  // [store]
    } else {
      if (me() == 0) mbarrier_arrive_expect_tx(plan.full + slot, THREADS * sizeof(float4));
      mbarrier_wait_cluster(plan.full + slot, use & 1);
      if (me() == 0) mbarrier_arrive(mapa(plan.empty + slot, 0));
      result(out) += sum(plan.inbox[int(slot) * THREADS + (me() ^ 33)]);  // [read]
    }
  }
  cluster_sync();
}

// A wait at .cta scope for what another block does.
CHECKED(arrival_waited_for_by_cta, breaks(mbarrier, {"arrive", "wait"}, "must acquire at .cluster scope").anywhere()) {
  Met plan;
  if (thread7()) mbarrier_arrive(mapa(plan.full, 1));    // [arrive]
  if (cluster_rank() == 1) mbarrier_wait(plan.full, 0);  // [wait]
}

CHECKED(st_async_waited_for_by_cta, breaks(mbarrier, {"store", "wait"}, "must acquire at .cluster scope").anywhere()) {
  Plan plan;
  if (me() == 0) mbarrier_arrive_expect_tx(plan.full, sizeof(float4));
  cluster_sync();
  if (thread7()) st_async(mapa(plan.inbox, 1), all(1), mapa(plan.full, 1));  // [store]
  if (cluster_rank() == 1) mbarrier_wait(plan.full, 0);                      // [wait]
}

// Two blocks' threads write the same place of a block.
CHECKED(fifth_write_unordered, breaks(inter, {"store"}, "of block 0 of the cluster")) {
  Met plan;
  if (me() == 3) remote_store(mapa(plan.inbox, 1), float(cluster_rank()));  // [store]
  cluster_sync();
}

// A barrier of block 1 that its thread 0 has initialised; `ordered` does not order that before the other's arrival.
template <class Ordered>
__device__ __forceinline__ void arrive_after_init(Ordered ordered) {
  SmemCursor cursor;
  auto* full = cursor.array<MBarrier>("full", 1, 1);
  if (me() == 0) mbarrier_init(full, 1);  // [init]
  ordered();
  if (cluster_rank() == 0 && me() == 0) mbarrier_arrive(mapa(full, 1));  // [arrive]
  if (cluster_rank() == 1) mbarrier_wait_cluster(full, 0);
}

CHECKED(init_not_ordered, breaks(mbarrier, {"init", "arrive"}, "mbarrier.init").anywhere()) {
  cluster_sync();
  arrive_after_init([] { __syncthreads(); });
}

CHECKED(relaxed_without_fence, breaks(mbarrier, {"init", "arrive"}, "mbarrier.init").anywhere()) {
  arrive_after_init([] {
    cluster_arrive_relaxed();
    __syncthreads();
    cluster_wait();
  });
}

CHECKED(
    bytes_too_many,
    breaks({mbarrier, early_exit}, {"store"}, "was complete before the bytes of this st.async had come").anywhere()) {
  Plan plan;
  if (me() == 0) mbarrier_arrive_expect_tx(plan.full, sizeof(float4));
  cluster_sync();
  if (cluster_rank() == 0 && me() < 2) st_async(mapa(plan.from(0), 1), all(1), mapa(plan.full, 1));  // [store]
  cluster_sync();
  if (cluster_rank() == 1) mbarrier_wait_cluster(plan.full, 0);
}

CHECKED(wait_without_arrive,
        stopped(cluster, "wait", "barrier.cluster.wait by a thread that has not arrived (barrier.cluster.arrive)")) {
  Met plan;
  cluster_wait();  // [wait]
}

CHECKED(arrive_twice,
        stopped(cluster, "arrive",
                "barrier.cluster.arrive by a thread that has arrived and not waited (barrier.cluster.wait) yet")) {
  Plan plan;
  cluster_arrive();
  cluster_arrive();  // [arrive]
  cluster_wait();
}

CHECKED(one_warp_never_arrives, stopped(deadlock, nullptr, "deadlock: no thread of the cluster can go on.")) {
  Plan plan;
  if (cluster_rank() == 1 && me() >= 32) mbarrier_wait(plan.full, 0);  // [stuck]
  cluster_sync();                                                      // [barrier]
}

CHECKED(one_lane_never_arrives,
        stopped(deadlock, nullptr, "Warp 0 lanes 0..6,8..31 wait in barrier.cluster.arrive for lanes 7")) {
  Plan plan;
  if (me() != 7) cluster_arrive();             // [barrier]
  if (me() == 7) mbarrier_wait(plan.full, 0);  // [stuck]
  cluster_wait();
}

CHECKED(rank_outside, stopped(cluster, "mapa", "mapa for block 2 of a cluster of 2 blocks")) {
  Met plan;
  if (me() == 3) remote_store(mapa(plan.inbox, cluster_rank() + 1), 1.f);  // [mapa]
  cluster_sync();
}

CHECKED(barrier_elsewhere,
        stopped(cluster, "store", "st.async to block 1 of the cluster with an mbarrier of block 0 of the cluster")) {
  Met plan;
  if (cluster_rank() == 0 && me() == 3) st_async(mapa(plan.inbox, 1), all(1), mapa(plan.full, 0));  // [store]
  cluster_sync();
}

// --- launches that may overlap the one before them -------------------------------------------------------------------

// One thread waits and asks for the tile; all others touch global memory after they have seen it arrive.
CHECKED(one_waits_for_the_launch_before, leaves({2}, [](int, int, int thread) { return double(thread % 37); }),
        leaves({2}, [](int, int, int thread) { return double(thread % 37); }).overlapping()) {
  Plan plan;
  if (me() == 0) {
    grid_dependency_wait();
    mbarrier_arrive_expect_tx(plan.full, BOX);
    tma_load_2d(plan.tile, &maps->rows4, 0, 0, plan.full);
  }
  launch_dependents();
  mbarrier_wait(plan.full, 0);
  result(out) = __half2float(plan.tile[me()]);
}

CHECKED(load_before_dependency, leaves({2}, [](int, int, int) { return 1.0; }),
        breaks(before_dependency, {"load"}, MAY_WRITE).overlapping()) {
  Plan plan;
  const float before = result(out);  // [load]
  grid_dependency_wait();
  result(out) = before + 1;
}

CHECKED(store_before_dependency, breaks(before_dependency, {"store"}, "may still read it").overlapping()) {
  Plan plan;
  result(out) = 1;  // [store]
  grid_dependency_wait();
}

CHECKED(copy_before_dependency, breaks(before_dependency, {"copy"}, MAY_WRITE).overlapping().anywhere()) {
  Plan plan;
  __pipeline_memcpy_async(plan.from(0), out + me() / 4 * 4, 16);  // [copy]
  __pipeline_commit();
  grid_dependency_wait();
  __pipeline_wait_prior(0);
}

CHECKED(tma_before_dependency, breaks(before_dependency, {"request"}, MAY_WRITE).overlapping().anywhere()) {
  Plan plan;
  if (me() == 0) {
    mbarrier_arrive_expect_tx(plan.full, BOX);
    tma_load_2d(plan.tile, &maps->rows4, 0, 0, plan.full);  // [request]
    grid_dependency_wait();
  }
  mbarrier_wait(plan.full, 0);
}

// The wait of one thread is no wait of another that nothing orders after it.
CHECKED(another_warp_waits_for_the_launch_before,
        breaks(before_dependency, {"request"}, "may still write it").overlapping().anywhere()) {
  Plan plan;
  if (me() != 32) grid_dependency_wait();
  if (me() == 32) {
    mbarrier_arrive_expect_tx(plan.full, BOX);
    tma_load_2d(plan.tile, &maps->rows4, 0, 0, plan.full);  // [request]
  }
  mbarrier_wait(plan.full, 0);
}

}  // namespace
}  // namespace lab::checked
