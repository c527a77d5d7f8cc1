// Clusters: kernels that keep the rules (checks/tests/checked.hpp).
#include "checks/tests/cluster_plan.hpp"

namespace lab::checked {
namespace {

template <class Term>
constexpr double doubled(int terms, Term term) {  // as the kernels add: the order shows
  double total = 0;
  for (int i = 0; i < terms; ++i) total = total * 2 + term(i);
  return total;
}

// As a split of keys is merged: part d of every block's sums is finished by block d.
CHECKED(merge_by_st_async, leaves({2, 4}, [](int size, int rank, int thread) {
          return doubled(size, [&](int d) { return d + 1 + rank + thread + 0.25; });
        })) {
  Plan plan;
  const unsigned rank = cluster_rank(), size = cluster_size();
  if (me() == 0) mbarrier_arrive_expect_tx(plan.full, (size - 1) * THREADS * sizeof(float4));
  grid_dependency_wait();
  cluster_arrive();
  float4 part[MOST_BLOCKS];
  for (unsigned d = 0; d < size; ++d) part[d] = make_float4(float(rank + 1), float(d), float(me()), 0.25f);
  launch_dependents();
  cluster_wait();
  for (unsigned d = 0; d < size; ++d)
    if (d != rank) st_async(mapa(plan.from(rank), d), part[d], mapa(plan.full, d));
  mbarrier_wait_cluster(plan.full, 0);
  float total = 0;
  for (unsigned d = 0; d < size; ++d) total = total * 2 + sum(d == rank ? part[d] : *plan.from(d));
  result(out) = total;
}

// The same; the arrival says that the block runs and that its barrier is initialised. Nobody has written to the inbox.
CHECKED(merge_after_relaxed, leaves({2, 4}, [](int size, int, int thread) {
          return doubled(size, [&](int d) { return d + 1 + 0.5 + thread + 0.25; });
        })) {
  SmemCursor cursor;
  auto* inbox = cursor.array<float4>("inbox", MOST_BLOCKS, THREADS);
  auto* full = cursor.array<MBarrier>("full", 1, 1);
  const unsigned rank = cluster_rank(), size = cluster_size();
  if (me() == 0) {
    mbarrier_init(full, 1);
    fence_mbarrier_init();
    mbarrier_arrive_expect_tx(full, (size - 1) * THREADS * sizeof(float4));
  }
  cluster_arrive_relaxed();
  __syncthreads();
  cluster_wait();
  const auto from = [&](unsigned d) { return inbox + int(d) * THREADS + me(); };
  const float4 part = make_float4(float(rank + 1), 0.5f, float(me()), 0.25f);
  for (unsigned d = 0; d < size; ++d)
    if (d != rank) st_async(mapa(from(rank), d), part, mapa(full, d));
  mbarrier_wait_cluster(full, 0);
  float total = 0;
  for (unsigned d = 0; d < size; ++d) total = total * 2 + sum(d == rank ? part : *from(d));
  result(out) = total;
}

CHECKED(store_then_barrier, leaves({2, 4}, [](int size, int rank, int thread) {
          return 3.0 * ((rank + size - 1) % size * 100 + thread) + 0.5;
        })) {
  Met plan;
  const unsigned rank = cluster_rank(), next = after(rank);
  remote_store(mapa(plan.from(rank), next), all(float(rank * 100 + threadIdx.x)));
  remote_store(mapa(plan.from(rank), next) + 4, 0.5f);
  cluster_sync();
  const unsigned before = (rank + cluster_size() - 1) % cluster_size();
  result(out) = sum(*plan.from(before));
}

CHECKED(load_between_barriers,
        leaves({2, 4}, [](int size, int, int) { return doubled(size, [&](int peer) { return 10 * peer; }); })) {
  Plan plan;
  const unsigned rank = cluster_rank();
  *plan.from(0) = all(float(rank * 10));
  cluster_sync();
  float total = 0;
  for (unsigned peer = 0; peer < cluster_size(); ++peer) total = total * 2 + remote_load(mapa(plan.from(0), peer));
  cluster_sync();
  result(out) = total;
}

CHECKED(store_then_arrive, leaves({2, 4}, [](int size, int rank, int) { return 4.0 * ((rank + size - 1) % size); })) {
  Met plan(THREADS);
  const unsigned rank = cluster_rank(), next = after(rank);
  remote_store(mapa(plan.from(0), next), all(float(rank)));
  mbarrier_arrive(mapa(plan.full, next));
  mbarrier_wait_cluster(plan.full, 0);
  result(out) = sum(plan.inbox[(me() + 17) % THREADS]);
}

CHECKED(store_then_one_arrives,
        leaves({2, 4}, [](int size, int rank, int) { return 4.0 * ((rank + size - 1) % size); })) {
  Met plan;
  const unsigned rank = cluster_rank(), next = after(rank);
  remote_store(mapa(plan.from(0), next), all(float(rank)));
  __syncthreads();
  if (me() == 5) mbarrier_arrive(mapa(plan.full, next));
  if (me() == 40) mbarrier_wait_cluster(plan.full, 0);
  __syncthreads();
  result(out) = sum(*plan.from(0));
}

// One thread of each block adds to a number and hands it on; three times round.
CHECKED(token_ring, leaves({2, 4}, [](int size, int rank, int thread) {
          double token = 1, seen = 0;
          for (int hop = 0; hop <= 3 * size; ++hop) {
            if (hop) token = token * 2 + hop % size;
            if (hop % size == rank) seen = token;
          }
          return thread == 0 ? seen : 0;
        })) {
  constexpr unsigned LAPS = 3;
  Met plan;
  const unsigned rank = cluster_rank(), next = after(rank);
  if (me() == 0)
    for (unsigned lap = 0; lap <= LAPS; ++lap) {
      if (rank > 0 && lap == LAPS) break;
      const bool first = rank == 0 && lap == 0;
      if (!first) mbarrier_wait_cluster(plan.full, (rank == 0 ? lap - 1 : lap) & 1);
      const float token = first ? 1 : plan.inbox[0].x * 2 + float(rank);
      result(out) = token;
      if (lap == LAPS) break;  // block 0 has it back
      remote_store(mapa(plan.inbox, next), token);
      mbarrier_arrive(mapa(plan.full, next));
    }
}

// Each block fetches its part of the tile for all.
CHECKED(multicast_halves, leaves({1, 2, 4}, [](int, int, int thread) {
          double total = 0;
          for (int row = 0; row < 8; ++row) total += (row * 64 + thread) % 37;
          return total;
        })) {
  Plan plan;
  const unsigned rank = cluster_rank(), size = cluster_size();
  if (me() == 0) mbarrier_arrive_expect_tx(plan.full, 2 * BOX);
  cluster_sync();
  if (me() == 0 && rank < 2)
    for (unsigned half_of = rank; half_of < 2; half_of += size)
      tma_load_2d_multicast(plan.tile + half_of * BOX / 2, &maps->rows4, 0, int(half_of) * 4, plan.full,
                            std::uint16_t((1u << size) - 1));
  mbarrier_wait(plan.full, 0);
  float total = 0;
  for (int row = 0; row < 8; ++row) total += __half2float(plan.tile[row * 64 + me()]);
  result(out) = total;
}

CHECKED(arrive_early_wait_late, leaves({2, 4}, [](int size, int rank, int) {
          return doubled(4, [&](int turn) { return 4 * (turn * 10 + (rank + size - 1) % size); });
        })) {
  Plan plan;
  const unsigned rank = cluster_rank(), next = after(rank);
  for (int turn = 0; turn < 4; ++turn) {
    cluster_arrive();
    const float value = float(turn * 10) + float(rank);
    cluster_wait();
    remote_store(mapa(plan.from(0), next), all(value));
    cluster_sync();
    result(out) = result(out) * 2 + sum(*plan.from(0));
  }
}

// Owners write and others load, in turns, with more warp barriers in some blocks than in others.
CHECKED(loads_in_turns, leaves({2, 4}, [](int size, int rank, int) {
          return doubled(3, [&](int turn) { return (rank + 1) % size + turn; });
        })) {
  Plan plan;
  const unsigned rank = cluster_rank(), next = after(rank);
  for (int turn = 0; turn < 3; ++turn) {
    for (unsigned i = 0; i < 5 * rank; ++i) __syncwarp();
    *plan.from(0) = all(float(rank) + float(turn));
    cluster_sync();
    result(out) = result(out) * 2 + remote_load(mapa(plan.from(0), next));
    cluster_sync();
  }
}

// Block 0 sends items through two slots of block 1, which frees them.
CHECKED(queue_kept, leaves({2}, [](int, int rank, int) {
          double total = 0;
          for (int item = 0; item < 6; ++item) total = total * 2 + 4 * item * item;
          return rank == 1 ? total : 0;
        })) {
  constexpr unsigned ITEMS = 6;
  Met plan(1, THREADS);
  for (unsigned item = 0; item < ITEMS; ++item) {
    const unsigned slot = item % 2, use = item / 2;
    if (cluster_rank() == 0) {
      mbarrier_wait_cluster(plan.empty + slot, (use & 1) ^ 1);
      st_async(mapa(plan.from(slot), 1), all(float(item * item)), mapa(plan.full + slot, 1));
    } else {
      if (me() == 0) mbarrier_arrive_expect_tx(plan.full + slot, THREADS * sizeof(float4));
      mbarrier_wait_cluster(plan.full + slot, use & 1);
      result(out) = result(out) * 2 + sum(plan.inbox[int(slot) * THREADS + (me() ^ 33)]);
      mbarrier_arrive(mapa(plan.empty + slot, 0));
    }
  }
  if (cluster_rank() == 0)  // the last arrivals are for this block's memory: it waits for them
    for (unsigned slot = 0; slot < 2; ++slot) mbarrier_wait_cluster(plan.empty + slot, (ITEMS / 2 - 1) & 1);
}

// Block 1 may not have reached its plan when block 0 writes into it: the plan is the same.
CHECKED(store_before_carving, leaves({2}, [](int, int rank, int) { return rank == 1 ? 12.0 : 0.0; })) {
  cluster_sync();
  SmemCursor cursor;
  auto* inbox = cursor.array<float4>("inbox", 1, THREADS);
  if (cluster_rank() == 0) remote_store(mapa(inbox + me(), 1), all(3));
  cluster_sync();
  if (cluster_rank() == 1) result(out) = sum(inbox[me()]);
}

}  // namespace
}  // namespace lab::checked
