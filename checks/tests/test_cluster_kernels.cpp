// Clusters, and launches that may overlap the one before them (rules.hpp).
#include <cuda_pipeline.h>

#include "checks/tests/cluster_plan.hpp"

namespace lab::rules {
namespace {

constexpr Size FOUR{0, 0, 8, 4}, ALONE{0, 0, 2, 1};
template <class Kinds>
constexpr Expect breaks(Kinds kinds, const char* one, const char* other, const char* words) {
  return finds(kinds, one, other, words).or_another();
}
constexpr Expect breaks(std::initializer_list<Finding::Kind> kinds, const char* one, const char* other,
                        const char* words) {
  return finds(kinds, one, other, words).or_another();
}

// --- what arrives --------------------------------------------------------------------------------

// As a split of keys is merged: part d of every block's sums is finished by block d. `relaxed`: the arrival says that
// the block runs and that its barrier is initialised; nothing has been written to the inbox.
__device__ __forceinline__ void merge(float4* inbox, MBarrier* full, bool relaxed) {
  const unsigned rank = cluster_rank(), size = cluster_size();
  const auto from = [&](unsigned d) { return inbox + int(d) * THREADS + me(); };
  if (me() == 0) mbarrier_arrive_expect_tx(full, (size - 1) * THREADS * sizeof(float4));
  relaxed ? cluster_arrive_relaxed() : cluster_arrive();
  float4 part[MOST_BLOCKS];
  for (unsigned d = 0; d < size; ++d) part[d] = make_float4(float(rank + 1), float(d), float(me()), 0.25f);
  if (relaxed) __syncthreads();
  cluster_wait();
  for (unsigned d = 0; d < size; ++d)
    if (d != rank) st_async(mapa(from(rank), d), part[d], mapa(full, d));
  mbarrier_wait_cluster(full, 0);
  for (unsigned d = 0; d < size; ++d)
    must(sum(d == rank ? part[d] : *from(d)) == float(d + 1) + float(rank) + float(me()) + 0.25f);
}
RIGHT(merge_by_st_async, {}, Expect{}.of(FOUR)) {
  Plan plan;
  grid_dependency_wait();
  launch_dependents();
  merge(plan.inbox, plan.full, false);
}
RIGHT(merge_after_relaxed, {}, Expect{}.of(FOUR)) {
  SmemCursor cursor;
  auto* inbox = cursor.array<float4>("inbox", MOST_BLOCKS, THREADS);
  auto* full = cursor.array<MBarrier>("full", 1, 1);
  if (me() == 0) mbarrier_init(full, 1), fence_mbarrier_init();
  merge(inbox, full, true);
}

// One thread of each block adds to a number and hands it on; three times round.
RIGHT(token_ring, {}, Expect{}.of(FOUR)) {
  const unsigned rank = cluster_rank(), size = cluster_size(), hops = 3 * size;
  Met plan;
  if (me()) return;
  float token = 1;
  for (unsigned hop = 0; hop <= hops; ++hop) {
    if (hop) token = token * 2 + float(hop % size);
    if (hop % size != rank) continue;
    if (hop) mbarrier_wait_cluster(plan.full, ((hop - 1) / size) & 1);
    must(!hop || plan.inbox[0].x == token);
    if (hop == hops) continue;  // block 0 has it back
    remote_store(mapa(plan.inbox, after(rank)), token * 2 + float((hop + 1) % size));
    mbarrier_arrive(mapa(plan.full, after(rank)));
  }
}

// Each block fetches its part of the tile for all.
RIGHT(multicast_halves, {}, Expect{}.of(FOUR), Expect{}.of(ALONE)) {
  Plan plan;
  const unsigned rank = cluster_rank(), size = cluster_size();
  if (me() == 0) mbarrier_arrive_expect_tx(plan.full, 2 * BOX);
  cluster_sync();
  if (me() == 0 && rank < 2)
    for (unsigned part = rank; part < 2; part += size)
      tma_load_2d_multicast(plan.tile + part * BOX / 2, &maps->rows4, 0, int(part) * 4, plan.full,
                            std::uint16_t((1u << size) - 1));
  mbarrier_wait(plan.full, 0);
  for (int row = 0; row < 8; ++row) must(int(__half2float(plan.tile[row * 64 + me()])) == (row * 64 + me()) % 37);
}

// Owners write and others load and store, in turns, with more warp barriers in some blocks than in others.
RIGHT(in_turns, {}, Expect{}.of(FOUR)) {
  Plan plan;
  const unsigned rank = cluster_rank();
  for (int turn = 0; turn < 3; ++turn) {
    for (unsigned i = 0; i < 5 * rank; ++i) __syncwarp();
    *plan.from(0) = all(float(rank) + 10 * float(turn));
    cluster_sync();
    must(remote_load(mapa(plan.from(0), after(rank))) == float(after(rank)) + 10 * float(turn));
    cluster_arrive();
    cluster_wait();
    remote_store(mapa(plan.from(1), after(rank)), all(float(rank)));
    remote_store(mapa(plan.from(1), after(rank)) + 4, 0.5f);
    cluster_sync();
    must(sum(*plan.from(1)) == 3 * float(before(rank)) + 0.5f);
  }
}

// Block 1 may not have reached its plan when block 0 writes into it: the plan is the same.
RIGHT(store_before_carving) {
  cluster_sync();
  auto* inbox = array<float4>("inbox", 1, THREADS);
  if (cluster_rank() == 0) remote_store(mapa(inbox + me(), 1), all(3));
  cluster_sync();
  if (cluster_rank() == 1) must(sum(inbox[me()]) == 12);
}

// --- blocks that do not run ----------------------------------------------------------------------

RULE(
    store_before_start,
    breaks({before_start, inter, intra}, "store", nullptr, "tells this thread that the block has started").anywhere()) {
  Plan plan;
  if (kept) cluster_sync();
  if (thread7()) remote_store(mapa(plan.inbox, 1), 1.f);  // [store]
  cluster_sync();
}

template <class Reach>
__device__ __forceinline__ void reach_late(bool kept, Reach reach) {
  Met plan;
  if (thread7()) reach(plan);
  if (kept) cluster_sync();
}
constexpr const char* GONE = "its shared memory may be gone";
RULE(exit_before_store, breaks(early_exit, "store", nullptr, GONE)) {
  reach_late(kept, [](const Plan& plan) {
    remote_store(mapa(plan.inbox, 1), 1.f);  // [store]
  });
}
RULE(exit_before_load, breaks(early_exit, "load", nullptr, GONE)) {
  reach_late(kept, [=](const Plan& plan) {
    result(out) = int(remote_load(mapa(plan.inbox, 1)));  // [load]
  });
}
RULE(exit_before_arrive, breaks(early_exit, "arrive", nullptr, GONE)) {
  reach_late(kept, [](const Plan& plan) {
    mbarrier_arrive(mapa(plan.full, 1));  // [arrive]
  });
}

// One st.async of thread 7 into block 1, which waits for it, or something else than that.
struct Sent : Plan {
  __device__ Sent() {
    if (me() == 0) mbarrier_arrive_expect_tx(full, sizeof(float4));
    cluster_sync();
    if (thread7()) st_async(mapa(inbox, 1), all(1), mapa(full, 1));  // [sent]
  }
  __device__ void wait() const {
    if (cluster_rank() == 1) mbarrier_wait_cluster(full, 0);
  }
};
RULE(exit_before_st_async, breaks(early_exit, "sent", nullptr, "no thread had waited for phase 0")) {
  Sent sent;
  if (kept) sent.wait();
}

// --- races ---------------------------------------------------------------------------------------

constexpr const char* UNORDERED = "no barrier and no mbarrier orders them";
RULE(relaxed_hands_on_nothing, breaks({inter, intra}, "store", "read", UNORDERED)) {
  Met plan;
  const unsigned rank = cluster_rank();
  remote_store(mapa(plan.from(0), after(rank)), all(float(rank)));  // [store]
  kept ? cluster_arrive() : cluster_arrive_relaxed();
  cluster_wait();
  result(out) = int(sum(plan.inbox[me()]));  // [read]
  cluster_sync();
}

RULE(read_before_barrier, breaks({inter, intra}, "store", "read", UNORDERED)) {
  Met plan;
  if (thread7()) remote_store(mapa(plan.inbox, 1), 1.f);  // [store]
  kept ? cluster_sync() : __syncthreads();
  if (other(7)) result(out) = int(plan.inbox[0].x);  // [read]
  cluster_sync();
}

// An arrival hands on the thread's own store; with a block barrier before it, the others'.
RULE(arrive_hands_on, breaks({inter, intra}, "store", "read", UNORDERED)) {
  Met plan;
  const unsigned rank = cluster_rank();
  remote_store(mapa(plan.from(0), after(rank)), all(float(rank)));  // [store]
  if (kept) __syncthreads();
  if (me() == 5) mbarrier_arrive(mapa(plan.full, after(rank)));
  if (me() == 40) mbarrier_wait_cluster(plan.full, 0);
  __syncthreads();
  result(out) = int(sum(*plan.from(0)));  // [read]
  cluster_sync();
}

RULE(read_before_bytes, breaks({before_phase, inter, intra}, "sent", "read", "may still write here")) {
  Sent sent;
  if (kept) sent.wait();
  if (other(9)) result(out) = int(sent.inbox[0].x);  // [read]
  sent.wait();
}

RULE(st_async_over_write, breaks({inter, before_phase}, "write", "again", "(WAW)")) {
  Plan plan;
  if (me() == 0) mbarrier_arrive_expect_tx(plan.full, sizeof(float4));
  cluster_sync();
  if (other(9)) plan.inbox[0].x = 1;  // [write]
  if (kept) cluster_sync();
  if (thread7()) st_async(mapa(plan.inbox, 1), all(1), mapa(plan.full, 1));  // [again]
  if (cluster_rank() == 1) mbarrier_wait_cluster(plan.full, 0);
}

// Block 1 reads what block 0 wrote; block 0 writes again, and nothing orders that after the readers.
RULE(written_under_readers, breaks({inter, intra}, "again", "read", "(WAR)")) {
  Met plan;
  if (thread7()) remote_store(mapa(plan.inbox, 1), 1.f);
  cluster_sync();
  if (other(9)) result(out) = int(plan.inbox[0].x);  // [read]
  if (kept) cluster_sync();
  if (thread7()) remote_store(mapa(plan.inbox, 1), 2.f);  // [again]
  cluster_sync();
}

// Threads of the same number read in both blocks, the owner's first; its write is ordered after that one alone.
BROKEN(written_under_both_blocks, breaks(inter, "load", "write", "(WAR)")) {
  Met plan;
  if (cluster_rank() == 0 && me() == 9) {
    mbarrier_wait_cluster(plan.empty, 0);
    result(out) = int(remote_load(mapa(plan.inbox, 1)));  // [load]
  }
  if (cluster_rank() == 1) {
    if (me() == 9) result(out) = int(plan.inbox[0].x);
    if (me() == 9) mbarrier_arrive(mapa(plan.empty, 0));
    __syncthreads();
    for (int i = 0; i < 200 && me() >= 32; ++i) __syncwarp();
    if (me() == 40) plan.inbox[0].x = 2;  // [write]
  }
  cluster_sync();
}

// Two blocks' threads write the same place of a block.
RULE(two_blocks_write, breaks(inter, "store", "store", "of block 0 of the cluster")) {
  Met plan;
  if (me() == 3) remote_store(mapa(plan.inbox, 1) + 4 * (kept ? cluster_rank() : 0), float(cluster_rank()));  // [store]
  cluster_sync();
}

// Block 0 sends items through two slots of block 1, whose readers free them; or one does for all, too early.
RULE(queue, breaks({inter, intra, before_phase, mbarrier, deadlock}, "store", "read", "(WAR)")) {
  constexpr unsigned ITEMS = 6;
  Met plan(1, kept ? THREADS : 1);
  for (unsigned item = 0; item < ITEMS; ++item) {
    const unsigned slot = item % 2, use = item / 2;
    if (cluster_rank() == 0) {
      mbarrier_wait_cluster(plan.empty + slot, (use & 1) ^ 1);
      st_async(mapa(plan.from(slot), 1), all(float(item * item)), mapa(plan.full + slot, 1));  // [store]
    } else {
      if (me() == 0) mbarrier_arrive_expect_tx(plan.full + slot, THREADS * sizeof(float4));
      mbarrier_wait_cluster(plan.full + slot, use & 1);
      if (me() == 0 && !kept) mbarrier_arrive(mapa(plan.empty + slot, 0));
      result(out) += int(sum(plan.inbox[int(slot) * THREADS + (me() ^ 33)]));  // [read]
      if (kept) mbarrier_arrive(mapa(plan.empty + slot, 0));
    }
  }
  cluster_sync();
  must(!kept || cluster_rank() == 0 || result(out) == 4 * 55);
}

// --- mbarriers of a cluster ----------------------------------------------------------------------

// A wait at .cta scope for what another block does.
constexpr Expect AT_CTA = breaks(mbarrier, "arrive", "wait", "must acquire at .cluster scope").anywhere();
RULE(arrival_waited_for_by_cta, AT_CTA) {
  Met plan;
  if (thread7()) mbarrier_arrive(mapa(plan.full, 1));  // [arrive]
  if (cluster_rank() == 1 && kept) mbarrier_wait_cluster(plan.full, 0);
  if (cluster_rank() == 1 && !kept) mbarrier_wait(plan.full, 0);  // [wait]
}
RULE(st_async_waited_for_by_cta, breaks(mbarrier, "sent", "wait", "must acquire at .cluster scope").anywhere()) {
  Sent sent;
  if (cluster_rank() == 1 && !kept) mbarrier_wait(sent.full, 0);  // [wait]
  sent.wait();
}

// A barrier of block 1 that its thread 0 has initialised.
RULE(init_not_ordered, breaks(mbarrier, "init", "arrive", "mbarrier.init").anywhere()) {
  auto* full = array<MBarrier>("full", 1, 1);
  cluster_sync();
  if (me() == 0) mbarrier_init(full, 1);  // [init]
  kept ? cluster_sync() : __syncthreads();
  if (cluster_rank() == 0 && me() == 0) mbarrier_arrive(mapa(full, 1));  // [arrive]
  if (cluster_rank() == 1) mbarrier_wait_cluster(full, 0);
}
RULE(relaxed_without_fence, breaks(mbarrier, "init", "arrive", "mbarrier.init").anywhere()) {
  auto* full = array<MBarrier>("full", 1, 1);
  if (me() == 0) mbarrier_init(full, 1);  // [init]
  if (me() == 0 && kept) fence_mbarrier_init();
  cluster_arrive_relaxed();
  __syncthreads();
  cluster_wait();
  if (cluster_rank() == 0 && me() == 0) mbarrier_arrive(mapa(full, 1));  // [arrive]
  if (cluster_rank() == 1) mbarrier_wait_cluster(full, 0);
}

RULE(bytes_too_many,
     breaks({mbarrier, early_exit}, "store", nullptr, "was complete before the bytes of this st.async had come")
         .anywhere()) {
  Plan plan;
  if (me() == 0) mbarrier_arrive_expect_tx(plan.full, sizeof(float4));
  cluster_sync();
  if (cluster_rank() == 0 && me() < (kept ? 1 : 2))
    st_async(mapa(plan.from(0), 1), all(1), mapa(plan.full, 1));  // [store]
  cluster_sync();
  if (cluster_rank() == 1) mbarrier_wait_cluster(plan.full, 0);
}

// --- what ends a launch --------------------------------------------------------------------------

RULE(wait_without_arrive,
     stopped(cluster, "wait", "barrier.cluster.wait by a thread that has not arrived (barrier.cluster.arrive)")) {
  Met plan;
  if (kept) cluster_arrive();
  cluster_wait();  // [wait]
}

RULE(arrive_twice, stopped(cluster, "arrive",
                           "barrier.cluster.arrive by a thread that has arrived and not waited (barrier.cluster.wait) "
                           "yet")) {
  Plan plan;
  cluster_arrive();
  if (kept) cluster_wait();
  cluster_arrive();  // [arrive]
  cluster_wait();
}

BROKEN(one_warp_never_arrives, stopped(deadlock, nullptr, "deadlock: no thread of the cluster can go on.")) {
  Plan plan;
  if (cluster_rank() == 1 && me() >= 32) mbarrier_wait(plan.full, 0);  // [stuck]
  cluster_sync();                                                      // [barrier]
}

BROKEN(one_lane_never_arrives,
       stopped(deadlock, nullptr, "Warp 0 lanes 0..6,8..31 wait in barrier.cluster.arrive for lanes 7")) {
  Plan plan;
  if (me() != 7) cluster_arrive();
  if (me() == 7) mbarrier_wait(plan.full, 0);
  cluster_wait();
}

RULE(rank_outside, stopped(cluster, "mapa", "mapa for block 2 of a cluster of 2 blocks")) {
  Met plan;
  if (other(3)) remote_store(mapa(plan.inbox, kept ? 1 : 2), 1.f);  // [mapa]
  cluster_sync();
}

RULE(barrier_elsewhere,
     stopped(cluster, "store", "st.async to block 1 of the cluster with an mbarrier of block 0 of the cluster")) {
  Met plan;
  if (me() == 0) mbarrier_arrive_expect_tx(plan.full, kept && cluster_rank() == 1 ? sizeof(float4) : 0);
  if (cluster_rank() == 0 && me() == 3)
    st_async(mapa(plan.inbox, 1), all(1), mapa(plan.full, kept ? 1 : 0));  // [store]
  mbarrier_wait_cluster(plan.full, 0);
  cluster_sync();
}

// --- launches that may overlap the one before them -----------------------------------------------

constexpr const char* MAY_WRITE = "the launch before may still write it: no thread of the block has passed";
constexpr Expect too_early(const char* mark, const char* words = MAY_WRITE) {
  return breaks(before_dependency, mark, nullptr, words).overlapping();
}
__device__ __forceinline__ void fetch(const Maps* maps, const Plan& plan) {
  mbarrier_arrive_expect_tx(plan.full, BOX);
  tma_load_2d(plan.tile, &maps->rows4, 0, 0, plan.full);  // [request]
}

// One thread waits and asks for the tile; all others touch global memory after they have seen it arrive.
RULE(tma_before_dependency, too_early("request").anywhere()) {
  Plan plan;
  if (me() == 0 && kept) grid_dependency_wait();
  if (me() == 0) fetch(maps, plan);
  if (me() == 0) grid_dependency_wait();
  launch_dependents();
  mbarrier_wait(plan.full, 0);
  result(out) = int(__half2float(plan.tile[me()]));
}

RULE(load_before_dependency, too_early("load")) {
  Plan plan;
  if (kept) grid_dependency_wait();
  const int before = result(out);  // [load]
  grid_dependency_wait();
  result(out) = before + 1;
}
RIGHT(load_without_overlap, Expect{}) {
  const int before = result(out);
  grid_dependency_wait();
  result(out) = before + 1;
}

RULE(store_before_dependency, too_early("store", "may still read it")) {
  Plan plan;
  if (kept) grid_dependency_wait();
  result(out) = 1;  // [store]
  grid_dependency_wait();
}

RULE(copy_before_dependency, too_early("copy").anywhere()) {
  Plan plan;
  if (kept) grid_dependency_wait();
  __pipeline_memcpy_async(plan.from(0), out + me() / 4 * 4, 16);  // [copy]
  __pipeline_commit();
  grid_dependency_wait();
  __pipeline_wait_prior(0);
}

// The wait of one thread is no wait of another that nothing orders after it.
RULE(another_warp_waits_for_the_launch_before, too_early("request", "may still write it").anywhere()) {
  Plan plan;
  if (me() != 32 || kept) grid_dependency_wait();
  if (me() == 32) fetch(maps, plan);
  mbarrier_wait(plan.full, 0);
}

}  // namespace
}  // namespace lab::rules
