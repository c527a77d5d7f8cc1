// The kernels of checks/tests/test_cluster_rules.cpp. Compiled with -fsanitize=thread; a comment such as [store] marks
// the line that a report must name.
#include "checks/tests/test_cluster_kernels.hpp"

#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include "common/ptx/cluster.cuh"
#include "common/ptx/grid_dependency.cuh"
#include "common/ptx/tma.cuh"
#include "common/smem_plan.cuh"

namespace lab::cluster_kernels {
namespace {

using namespace ptx;

constexpr unsigned BOX = 4 * 64 * sizeof(half);  // bytes

__device__ __forceinline__ float4 all(float x) { return make_float4(x, x, x, x); }
__device__ __forceinline__ float sum(float4 v) { return v.x + v.y + v.z + v.w; }
__device__ __forceinline__ int me() { return int(threadIdx.x); }
__device__ __forceinline__ float& result(float* out) { return out[blockIdx.x * THREADS + threadIdx.x]; }

// An inbox of one row for each block, written once by its owner, and barriers; thread 0 has initialised and fenced
// them.
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

}  // namespace

// --- kept -----------------------------------------------------------------------------------------------------------

// As a split of keys is merged: part d of every block's sums is finished by block d.
__global__ void merge_by_st_async(const TensorMap*, float* out) {
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
  mbarrier_wait(plan.full, 0);
  float total = 0;
  for (unsigned d = 0; d < size; ++d) total = total * 2 + sum(d == rank ? part[d] : *plan.from(d));
  result(out) = total;
}

// The same; the arrival says that the block runs and that its barrier is initialised. Nobody has written to the inbox.
__global__ void merge_after_relaxed(const TensorMap*, float* out) {
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
  mbarrier_wait(full, 0);
  float total = 0;
  for (unsigned d = 0; d < size; ++d) total = total * 2 + sum(d == rank ? part : *from(d));
  result(out) = total;
}

__global__ void store_then_barrier(const TensorMap*, float* out) {
  Plan plan;
  cluster_sync();
  const unsigned rank = cluster_rank(), next = (rank + 1) % cluster_size();
  remote_store(mapa(plan.from(rank), next), all(float(rank * 100 + threadIdx.x)));
  remote_store(mapa(plan.from(rank), next) + 4, 0.5f);
  cluster_sync();
  const unsigned before = (rank + cluster_size() - 1) % cluster_size();
  result(out) = sum(*plan.from(before));
}

__global__ void load_between_barriers(const TensorMap*, float* out) {
  Plan plan;
  const unsigned rank = cluster_rank();
  *plan.from(0) = all(float(rank * 10));
  cluster_sync();
  float total = 0;
  for (unsigned peer = 0; peer < cluster_size(); ++peer)
    total = total * 2 + sum(remote_load4(mapa(plan.from(0), peer))) + remote_load(mapa(plan.from(0), peer));
  cluster_sync();
  result(out) = total;
}

__global__ void store_then_arrive(const TensorMap*, float* out) {
  Plan plan(THREADS);
  cluster_sync();
  const unsigned rank = cluster_rank(), next = (rank + 1) % cluster_size();
  remote_store(mapa(plan.from(0), next), all(float(rank)));
  mbarrier_arrive(mapa(plan.full, next));
  mbarrier_wait_cluster(plan.full, 0);
  result(out) = sum(plan.inbox[(me() + 17) % THREADS]);
}

__global__ void store_then_one_arrives(const TensorMap*, float* out) {
  Plan plan;
  cluster_sync();
  const unsigned rank = cluster_rank(), next = (rank + 1) % cluster_size();
  remote_store(mapa(plan.from(0), next), all(float(rank)));
  __syncthreads();
  if (me() == 5) mbarrier_arrive(mapa(plan.full, next));
  if (me() == 40) mbarrier_wait_cluster(plan.full, 0);
  __syncthreads();
  result(out) = sum(*plan.from(0));
}

// One thread of each block adds to a number and hands it on; three times round.
__global__ void token_ring(const TensorMap*, float* out) {
  constexpr unsigned LAPS = 3;
  Plan plan;
  cluster_sync();
  const unsigned rank = cluster_rank(), next = (rank + 1) % cluster_size();
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
__global__ void multicast_halves(const TensorMap* map, float* out) {
  Plan plan;
  const unsigned rank = cluster_rank(), size = cluster_size();
  if (me() == 0) mbarrier_arrive_expect_tx(plan.full, 2 * BOX);
  cluster_sync();
  if (me() == 0 && rank < 2)
    for (unsigned half_of = rank; half_of < 2; half_of += size)
      tma_load_2d_multicast(plan.tile + half_of * BOX / 2, map, 0, int(half_of) * 4, plan.full,
                            std::uint16_t((1u << size) - 1));
  mbarrier_wait(plan.full, 0);
  float total = 0;
  for (int row = 0; row < 8; ++row) total += __half2float(plan.tile[row * 64 + me()]);
  result(out) = total;
}

__global__ void arrive_early_wait_late(const TensorMap*, float* out) {
  Plan plan;
  const unsigned rank = cluster_rank(), next = (rank + 1) % cluster_size();
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
__global__ void loads_in_turns(const TensorMap*, float* out) {
  Plan plan;
  const unsigned rank = cluster_rank(), next = (rank + 1) % cluster_size();
  for (int turn = 0; turn < 3; ++turn) {
    for (unsigned i = 0; i < 5 * rank; ++i) __syncwarp();
    *plan.from(0) = all(float(rank) + float(turn));
    cluster_sync();
    result(out) = result(out) * 2 + remote_load(mapa(plan.from(0), next));
    cluster_sync();
  }
}

// Block 0 sends items through two slots of block 1, which frees them.
__global__ void queue_kept(const TensorMap*, float* out) {
  constexpr unsigned ITEMS = 6;
  Plan plan(1, THREADS);
  cluster_sync();
  for (unsigned item = 0; item < ITEMS; ++item) {
    const unsigned slot = item % 2, use = item / 2;
    if (cluster_rank() == 0) {
      mbarrier_wait_cluster(plan.empty + slot, (use & 1) ^ 1);
      st_async(mapa(plan.from(slot), 1), all(float(item * item)), mapa(plan.full + slot, 1));
    } else {
      if (me() == 0) mbarrier_arrive_expect_tx(plan.full + slot, THREADS * sizeof(float4));
      mbarrier_wait(plan.full + slot, use & 1);
      result(out) = result(out) * 2 + sum(plan.inbox[int(slot) * THREADS + (me() ^ 33)]);
      mbarrier_arrive(mapa(plan.empty + slot, 0));
    }
  }
  if (cluster_rank() == 0)  // the last arrivals are for this block's memory: it waits for them
    for (unsigned slot = 0; slot < 2; ++slot) mbarrier_wait_cluster(plan.empty + slot, (ITEMS / 2 - 1) & 1);
}

// Block 1 may not have reached its plan when block 0 writes into it: the plan is the same.
__global__ void store_before_carving(const TensorMap*, float* out) {
  cluster_sync();
  SmemCursor cursor;
  auto* inbox = cursor.array<float4>("inbox", 1, THREADS);
  if (cluster_rank() == 0) remote_store(mapa(inbox + me(), 1), all(3));
  cluster_sync();
  if (cluster_rank() == 1) result(out) = sum(inbox[me()]);
}

// --- broken ---------------------------------------------------------------------------------------------------------

__global__ void store_before_start(const TensorMap*, float*) {
  Plan plan;
  if (cluster_rank() == 0 && me() == 7) remote_store(mapa(plan.inbox, 1), 1.f);  // [store]
  cluster_sync();
}

__global__ void exit_before_store(const TensorMap*, float*) {
  Plan plan;
  cluster_sync();
  if (cluster_rank() == 0 && me() == 7) remote_store(mapa(plan.inbox, 1), 1.f);  // [store]
}

__global__ void exit_before_load(const TensorMap*, float* out) {
  Plan plan;
  cluster_sync();
  if (cluster_rank() == 0 && me() == 7) result(out) = remote_load(mapa(plan.inbox, 1));  // [load]
}

__global__ void exit_before_arrive(const TensorMap*, float*) {
  Plan plan;
  cluster_sync();
  if (cluster_rank() == 0 && me() == 7) mbarrier_arrive(mapa(plan.full, 1));  // [arrive]
}

__global__ void exit_before_st_async(const TensorMap*, float*) {
  Plan plan;
  if (me() == 0) mbarrier_arrive_expect_tx(plan.full, sizeof(float4));
  cluster_sync();
  if (cluster_rank() == 0 && me() == 7) st_async(mapa(plan.inbox, 1), all(1), mapa(plan.full, 1));  // [store]
}

__global__ void relaxed_hands_on_nothing(const TensorMap*, float* out) {
  Plan plan;
  cluster_sync();
  const unsigned rank = cluster_rank(), next = (rank + 1) % cluster_size();
  remote_store(mapa(plan.from(0), next), all(float(rank)));  // [store]
  cluster_arrive_relaxed();
  cluster_wait();
  result(out) = sum(plan.inbox[me()]);  // [read]
  cluster_sync();
}

__global__ void read_before_barrier(const TensorMap*, float* out) {
  Plan plan;
  cluster_sync();
  if (cluster_rank() == 0 && me() == 7) remote_store(mapa(plan.inbox, 1), 1.f);  // [store]
  __syncthreads();
  if (cluster_rank() == 1 && me() == 7) result(out) = plan.inbox[0].x;  // [read]
  cluster_sync();
}

__global__ void read_before_bytes(const TensorMap*, float* out) {
  Plan plan;
  if (me() == 0) mbarrier_arrive_expect_tx(plan.full, sizeof(float4));
  cluster_sync();
  if (cluster_rank() == 0 && me() == 7) st_async(mapa(plan.inbox, 1), all(1), mapa(plan.full, 1));  // [store]
  if (cluster_rank() == 1) {
    if (me() == 9) result(out) = plan.inbox[0].x;  // [read]
    mbarrier_wait(plan.full, 0);
  }
}

// Block 1 reads what block 0 wrote; block 0 writes again, and nothing orders that after the readers.
__global__ void written_under_readers(const TensorMap*, float* out) {
  Plan plan;
  cluster_sync();
  if (cluster_rank() == 0 && me() == 7) remote_store(mapa(plan.inbox, 1), 1.f);
  cluster_sync();
  if (cluster_rank() == 1 && me() == 9) result(out) = plan.inbox[0].x;           // [read]
  if (cluster_rank() == 0 && me() == 7) remote_store(mapa(plan.inbox, 1), 2.f);  // [store]
  cluster_sync();
}

// Threads of the same number read in both blocks, the owner's first; its write is ordered after that one alone.
__global__ void written_under_both_blocks(const TensorMap*, float* out) {
  Plan plan;
  cluster_sync();
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

__global__ void st_async_over_write(const TensorMap*, float*) {
  Plan plan;
  if (me() == 0) mbarrier_arrive_expect_tx(plan.full, sizeof(float4));
  cluster_sync();
  if (cluster_rank() == 1 && me() == 9) plan.inbox[0].x = 1;                                        // [write]
  if (cluster_rank() == 0 && me() == 7) st_async(mapa(plan.inbox, 1), all(1), mapa(plan.full, 1));  // [store]
  if (cluster_rank() == 1) mbarrier_wait(plan.full, 0);
}

// As queue_kept, but only one of the readers frees a slot, for all, and without a barrier before.
__global__ void queue_overrun(const TensorMap*, float* out) {
  constexpr unsigned ITEMS = 6;
  Plan plan;
  cluster_sync();
  for (unsigned item = 0; item < ITEMS; ++item) {
    const unsigned slot = item % 2, use = item / 2;
    if (cluster_rank() == 0) {
      mbarrier_wait_cluster(plan.empty + slot, (use & 1) ^ 1);
      st_async(mapa(plan.from(slot), 1), all(float(item)), mapa(plan.full + slot, 1));  // [store]
    } else {
      if (me() == 0) mbarrier_arrive_expect_tx(plan.full + slot, THREADS * sizeof(float4));
      mbarrier_wait(plan.full + slot, use & 1);
      if (me() == 0) mbarrier_arrive(mapa(plan.empty + slot, 0));
      result(out) += sum(plan.inbox[int(slot) * THREADS + (me() ^ 33)]);  // [read]
    }
  }
  cluster_sync();
}

// Two blocks' threads write the same place of a block.
__global__ void fifth_write_unordered(const TensorMap*, float*) {
  Plan plan;
  cluster_sync();
  if (me() == 3) remote_store(mapa(plan.inbox, 1), float(cluster_rank()));  // [store]
  cluster_sync();
}

__global__ void init_not_ordered(const TensorMap*, float*) {
  cluster_sync();
  SmemCursor cursor;
  auto* full = cursor.array<MBarrier>("full", 1, 1);
  if (me() == 0) mbarrier_init(full, 1);  // [init]
  __syncthreads();
  if (cluster_rank() == 0 && me() == 0) mbarrier_arrive(mapa(full, 1));  // [arrive]
  if (cluster_rank() == 1) mbarrier_wait_cluster(full, 0);
}

__global__ void relaxed_without_fence(const TensorMap*, float*) {
  SmemCursor cursor;
  auto* full = cursor.array<MBarrier>("full", 1, 1);
  if (me() == 0) mbarrier_init(full, 1);  // [init]
  cluster_arrive_relaxed();
  __syncthreads();
  cluster_wait();
  if (cluster_rank() == 0 && me() == 0) mbarrier_arrive(mapa(full, 1));  // [arrive]
  if (cluster_rank() == 1) mbarrier_wait_cluster(full, 0);
}

__global__ void bytes_too_many(const TensorMap*, float*) {
  Plan plan;
  if (me() == 0) mbarrier_arrive_expect_tx(plan.full, sizeof(float4));
  cluster_sync();
  if (cluster_rank() == 0 && me() < 2) st_async(mapa(plan.from(0), 1), all(1), mapa(plan.full, 1));  // [store]
  cluster_sync();
  if (cluster_rank() == 1) mbarrier_wait(plan.full, 0);
}

__global__ void wait_without_arrive(const TensorMap*, float*) {
  Plan plan;
  cluster_sync();
  cluster_wait();  // [wait]
}

__global__ void arrive_twice(const TensorMap*, float*) {
  Plan plan;
  cluster_arrive();
  cluster_arrive();  // [arrive]
  cluster_wait();
}

__global__ void one_warp_never_arrives(const TensorMap*, float*) {
  Plan plan;
  if (cluster_rank() == 1 && me() >= 32) mbarrier_wait(plan.full, 0);  // [stuck]
  cluster_sync();                                                      // [barrier]
}

__global__ void one_lane_never_arrives(const TensorMap*, float*) {
  Plan plan;
  if (me() != 7) cluster_arrive();             // [barrier]
  if (me() == 7) mbarrier_wait(plan.full, 0);  // [stuck]
  cluster_wait();
}

__global__ void rank_outside(const TensorMap*, float*) {
  Plan plan;
  cluster_sync();
  if (me() == 3) remote_store(mapa(plan.inbox, cluster_rank() + 1), 1.f);  // [mapa]
  cluster_sync();
}

__global__ void barrier_elsewhere(const TensorMap*, float*) {
  Plan plan;
  cluster_sync();
  if (cluster_rank() == 0 && me() == 3) st_async(mapa(plan.inbox, 1), all(1), mapa(plan.full, 0));  // [store]
  cluster_sync();
}

// --- launches that may overlap the one before them -------------------------------------------------------------------

// One thread waits and asks for the tile; all others touch global memory after they have seen it arrive.
__global__ void one_waits_for_the_launch_before(const TensorMap* map, float* out) {
  Plan plan;
  if (me() == 0) {
    grid_dependency_wait();
    mbarrier_arrive_expect_tx(plan.full, BOX);
    tma_load_2d(plan.tile, map, 0, 0, plan.full);
  }
  launch_dependents();
  mbarrier_wait(plan.full, 0);
  result(out) = __half2float(plan.tile[me()]);
}

__global__ void load_before_dependency(const TensorMap*, float* out) {
  Plan plan;
  const float before = result(out);  // [load]
  grid_dependency_wait();
  result(out) = before + 1;
}

__global__ void store_before_dependency(const TensorMap*, float* out) {
  Plan plan;
  result(out) = 1;  // [store]
  grid_dependency_wait();
}

__global__ void copy_before_dependency(const TensorMap*, float* out) {
  Plan plan;
  __pipeline_memcpy_async(plan.from(0), out + me() / 4 * 4, 16);  // [copy]
  __pipeline_commit();
  grid_dependency_wait();
  __pipeline_wait_prior(0);
}

__global__ void tma_before_dependency(const TensorMap* map, float*) {
  Plan plan;
  if (me() == 0) {
    mbarrier_arrive_expect_tx(plan.full, BOX);
    tma_load_2d(plan.tile, map, 0, 0, plan.full);  // [request]
    grid_dependency_wait();
  }
  mbarrier_wait(plan.full, 0);
}

}  // namespace lab::cluster_kernels
