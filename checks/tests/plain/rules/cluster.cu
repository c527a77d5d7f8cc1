// Clusters: what arrives at another block, blocks that do not run yet or any more, races between blocks, mbarriers across them.
#include "rules.cuh"
#include "common/ptx/cluster.cuh"
#include "common/ptx/mbarrier.cuh"
#include "common/ptx/tma.cuh"
using namespace lab::ptx;

constexpr int THREADS = 64, MOST_BLOCKS = 4;
constexpr unsigned BOX = 4 * 64 * sizeof(half);  // bytes
struct Smem {
  alignas(1024) half tile[8][64];
  float4 inbox[MOST_BLOCKS][THREADS];  // a row for each block, written once by its owner
  MBarrier full[2], empty[2];
};
__device__ int me() { return int(threadIdx.x); }
__device__ float4 four(float x) { return make_float4(x, x, x, x); }
__device__ float sum(float4 v) { return v.x + v.y + v.z + v.w; }
__device__ unsigned after(unsigned rank) { return (rank + 1) % cluster_size(); }
__device__ unsigned before(unsigned rank) { return (rank + cluster_size() - 1) % cluster_size(); }
__device__ bool thread7() { return cluster_rank() == 0 && me() == 7; }
__device__ bool other(int thread) { return cluster_rank() == 1 && me() == thread; }
__device__ int& result(int* out) { return out[blockIdx.x * THREADS + threadIdx.x]; }

// Macros: a report names the line of the kernel.
#define remote_store(to, x) asm volatile("st.shared::cluster.f32 [%0], %1;" ::"r"(to), "f"(x) : "memory")
#define remote_store4(to, x) asm volatile("st.shared::cluster.v4.f32 [%0], {%1, %1, %1, %1};" ::"r"(to), "f"(x) : "memory")
#define remote_load(x, from) asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(x) : "r"(from) : "memory")
#define remote_arrive(at) asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(at) : "memory")

#define SHARED                                              \
  extern __shared__ __align__(1024) unsigned char shared[]; \
  Smem& smem = *reinterpret_cast<Smem*>(shared);            \
  [[maybe_unused]] auto& inbox = smem.inbox;                \
  [[maybe_unused]] MBarrier *const full = smem.full, *const empty = smem.empty
__device__ void begin(Smem& smem, unsigned empties) {
  for (int row = 0; row < MOST_BLOCKS; ++row) smem.inbox[row][me()] = four(0);
  if (me() == 0) {
    for (int i = 0; i < 2; ++i) mbarrier_init(smem.full[i], 1), mbarrier_init(smem.empty[i], empties);
    fence_mbarrier_init();
  }
  __syncthreads();
}
#define SMEM(empties) \
  SHARED;             \
  begin(smem, empties)
#define MET(empties) \
  SMEM(empties);     \
  cluster_sync()

// --- what arrives --------------------------------------------------------------------------------

RULE(ranks) {
  out[blockIdx.x * THREADS + me()] = int(cluster_rank() * 10 + cluster_size());
  cluster_sync();
}

// As a split of keys is merged: part d of every block's sums is finished by block d. `relaxed`: the arrival says that
// the block runs and that its barrier is initialised; nothing has been written to the inbox.
__device__ void merge(float4 (&inbox)[MOST_BLOCKS][THREADS], MBarrier* full, bool relaxed) {
  const unsigned rank = cluster_rank(), size = cluster_size();
  if (me() == 0) mbarrier_arrive_expect_tx(*full, (size - 1) * THREADS * sizeof(float4));
  relaxed ? cluster_arrive_relaxed() : cluster_arrive();
  float4 part[MOST_BLOCKS];
  for (unsigned d = 0; d < size; ++d) part[d] = make_float4(float(rank + 1), float(d), float(me()), 0.25f);
  if (relaxed) __syncthreads();
  cluster_wait();
  for (unsigned d = 0; d < size; ++d)
    if (d != rank) st_async(&inbox[rank][me()], d, part[d], *full);
  mbarrier_wait_cluster(*full, 0);
  for (unsigned d = 0; d < size; ++d)
    must(sum(d == rank ? part[d] : inbox[d][me()]) == float(d + 1) + float(rank) + float(me()) + 0.25f);
}
RULE(merge_by_st_async) {
  SMEM(1);
  merge(inbox, full, false);
}
RULE(merge_after_relaxed) {
  SHARED;
  if (me() == 0) mbarrier_init(*full, 1), fence_mbarrier_init();
  merge(inbox, full, true);
}

// One thread of each block adds to a number and hands it on; three times round.
RULE(token_ring) {
  MET(1);
  const unsigned rank = cluster_rank(), size = cluster_size(), hops = 3 * size;
  if (me()) return;
  float token = 1;
  for (unsigned hop = 0; hop <= hops; ++hop) {
    if (hop) token = token * 2 + float(hop % size);
    if (hop % size != rank) continue;
    if (hop) mbarrier_wait_cluster(*full, ((hop - 1) / size) & 1);
    must(!hop || inbox[0][0].x == token);
    if (hop == hops) continue;  // block 0 has it back
    remote_store(address_in(after(rank), inbox), token * 2 + float((hop + 1) % size));
    remote_arrive(address_in(after(rank), full));
  }
}

// Each block fetches its part of the tile for all.
RULE(multicast_halves) {
  SMEM(1);
  const unsigned rank = cluster_rank(), size = cluster_size();
  if (me() == 0) mbarrier_arrive_expect_tx(*full, 2 * BOX);
  cluster_sync();
  if (me() == 0 && rank < 2)
    for (unsigned part = rank; part < 2; part += size)
      tma_load_2d_multicast(smem.tile[4 * part], maps.rows4, 0, int(part) * 4, *full, std::uint16_t((1u << size) - 1));
  mbarrier_wait(*full, 0);
  for (int row = 0; row < 8; ++row) must(int(__half2float(smem.tile[row][me()])) == (row * 64 + me()) % 37);
  cluster_sync();
}

// Owners write and others load and store, in turns, with more warp barriers in some blocks than in others.
RULE(in_turns) {
  SMEM(1);
  const unsigned rank = cluster_rank();
  for (int turn = 0; turn < 3; ++turn) {
    for (unsigned i = 0; i < 5 * rank; ++i) __syncwarp();
    inbox[0][me()] = four(float(rank) + 10 * float(turn));
    cluster_sync();
    float seen;
    remote_load(seen, address_in(after(rank), &inbox[0][me()]));
    must(seen == float(after(rank)) + 10 * float(turn));
    cluster_arrive();
    cluster_wait();
    remote_store4(address_in(after(rank), &inbox[1][me()]), float(rank));
    remote_store(address_in(after(rank), &inbox[1][me()]) + 4, 0.5f);
    cluster_sync();
    must(sum(inbox[1][me()]) == 3 * float(before(rank)) + 0.5f);
  }
}

// Its barrier holds all threads of all blocks, and those that returned count as arrived.
RULE(barrier_of_those_that_live) {
  if (me() >= 32) return;
  for (int turn = 1; turn <= 5; ++turn) {
    atomicAdd(out + blockIdx.x / cluster_size(), 1);
    cluster_arrive();
    __syncwarp();
    cluster_wait();
    must(atomicAdd(out + blockIdx.x / cluster_size(), 0) >= int(32 * cluster_size()) * turn);
    cluster_sync();
  }
}

// --- blocks that do not run ----------------------------------------------------------------------

RULE(store_before_start) {
  SMEM(1);
  if (KEPT) cluster_sync();
  if (thread7()) remote_store(address_in(1, inbox), 1.f);  // [store before start]
  cluster_sync();
}

RULE(exit_before_store) {
  MET(1);
  if (thread7()) remote_store(address_in(1, inbox), 1.f);  // [store before exit]
  if (KEPT) cluster_sync();
}
RULE(exit_before_load) {
  MET(1);
  float x;
  if (thread7()) remote_load(x, address_in(1, inbox));  // [load before exit]
  if (KEPT) cluster_sync();
}
RULE(exit_before_arrive) {
  MET(1);
  if (thread7()) remote_arrive(address_in(1, full));  // [arrive before exit]
  if (KEPT) cluster_sync();
}

// One st.async of thread 7 into block 1, which waits for it, or does something else.
#define SENT                                                      \
  SMEM(1);                                                        \
  if (me() == 0) mbarrier_arrive_expect_tx(*full, sizeof(float4)); \
  cluster_sync();                                                 \
  if (thread7()) st_async(inbox, 1, four(1), *full)
RULE(exit_before_st_async) {
  SENT;  // [st.async before exit]
  if (KEPT && cluster_rank() == 1) mbarrier_wait_cluster(*full, 0);
}

// --- races ---------------------------------------------------------------------------------------

RULE(relaxed_hands_on_nothing) {
  MET(1);
  const unsigned rank = cluster_rank();
  remote_store4(address_in(after(rank), &inbox[0][me()]), float(rank));  // [store before relaxed]
  KEPT ? cluster_arrive() : cluster_arrive_relaxed();
  cluster_wait();
  result(out) = int(sum(inbox[0][me()]));  // [read behind relaxed]
  cluster_sync();
}

RULE(read_before_barrier) {
  MET(1);
  if (thread7()) remote_store(address_in(1, inbox), 1.f);  // [store before block barrier]
  KEPT ? cluster_sync() : __syncthreads();
  if (other(7)) result(out) = int(inbox[0][0].x);  // [read behind block barrier]
  cluster_sync();
}

// An arrival hands on the thread's own store; with a block barrier before it, the others'.
RULE(arrive_hands_on) {
  MET(1);
  const unsigned rank = cluster_rank();
  remote_store4(address_in(after(rank), &inbox[0][me()]), float(rank));  // [store of all]
  if (KEPT) __syncthreads();
  if (me() == 5) remote_arrive(address_in(after(rank), full));
  if (me() == 40) mbarrier_wait_cluster(*full, 0);
  __syncthreads();
  result(out) = int(sum(inbox[0][me()]));  // [read of all]
  cluster_sync();
}

RULE(read_before_bytes) {
  SENT;  // [st.async]
  if (KEPT && cluster_rank() == 1) mbarrier_wait_cluster(*full, 0);
  if (other(9)) result(out) = int(inbox[0][0].x);  // [read before bytes]
  if (cluster_rank() == 1) mbarrier_wait_cluster(*full, 0);
}

RULE(st_async_over_write) {
  SMEM(1);
  if (me() == 0) mbarrier_arrive_expect_tx(*full, sizeof(float4));
  cluster_sync();
  if (other(9)) inbox[0][0].x = 1;  // [write under st.async]
  if (KEPT) cluster_sync();
  if (thread7()) st_async(inbox, 1, four(1), *full);  // [st.async over it]
  if (cluster_rank() == 1) mbarrier_wait_cluster(*full, 0);
}

// Block 1 reads what block 0 wrote; block 0 writes again, and nothing orders that after the readers.
RULE(written_under_readers) {
  MET(1);
  if (thread7()) remote_store(address_in(1, inbox), 1.f);
  cluster_sync();
  if (other(9)) result(out) = int(inbox[0][0].x);  // [read between]
  if (KEPT) cluster_sync();
  if (thread7()) remote_store(address_in(1, inbox), 2.f);  // [second store]
  cluster_sync();
}

// Threads of the same number read in both blocks, the owner's first; its write is ordered after that one alone.
RULE(written_under_both_blocks) {
  MET(1);
  if (cluster_rank() == 0 && me() == 9) {
    mbarrier_wait_cluster(*empty, 0);
    float x;
    remote_load(x, address_in(1, inbox));  // [load from outside]
    result(out) = int(x);
  }
  if (cluster_rank() == 1) {
    if (me() == 9) result(out) = int(inbox[0][0].x);
    if (me() == 9) remote_arrive(address_in(0, empty));
    __syncthreads();
    for (int i = 0; i < 200 && me() >= 32; ++i) __syncwarp();
    if (me() == 40) inbox[0][0].x = 2;  // [write of the owner]
  }
  cluster_sync();
}

// Two blocks' threads write the same place of a block.
RULE(two_blocks_write) {
  MET(1);
  if (me() == 3) remote_store(address_in(1, inbox) + 4 * (KEPT ? cluster_rank() : 0), float(cluster_rank()));  // [both stores]
  cluster_sync();
}

// Block 0 sends items through two slots of block 1, whose readers free them; or one does for all, too early.
RULE(queue) {
  constexpr unsigned ITEMS = 6;
  MET(KEPT ? THREADS : 1);
  int total = 0;
  for (unsigned item = 0; item < ITEMS; ++item) {
    const unsigned slot = item % 2, use = item / 2;
    if (cluster_rank() == 0) {
      mbarrier_wait_cluster(empty[slot], (use & 1) ^ 1);
      st_async(&inbox[slot][me()], 1, four(float(item * item)), full[slot]);  // [st.async of the queue]
    } else {
      if (me() == 0) mbarrier_arrive_expect_tx(full[slot], THREADS * sizeof(float4));
      mbarrier_wait_cluster(full[slot], use & 1);
      if (me() == 0 && !KEPT) remote_arrive(address_in(0, empty + slot));
      total += int(sum(inbox[slot][me() ^ 33]));  // [read of the queue]
      if (KEPT) remote_arrive(address_in(0, empty + slot));
    }
  }
  cluster_sync();
  must(!KEPT || cluster_rank() == 0 || total == 4 * 55);
}

// --- mbarriers of a cluster ----------------------------------------------------------------------

// A wait at .cta scope for what another block does.
RULE(arrival_waited_for_by_cta) {
  MET(1);
  if (thread7()) remote_arrive(address_in(1, full));  // [arrive from outside]
  if (cluster_rank() == 1 && KEPT) mbarrier_wait_cluster(*full, 0);
  if (cluster_rank() == 1 && !KEPT) mbarrier_wait(*full, 0);  // [wait at cta scope]
}
RULE(st_async_waited_for_by_cta) {
  SENT;                                                      // [st.async from outside]
  if (cluster_rank() == 1 && !KEPT) mbarrier_wait(*full, 0);  // [wait for bytes at cta scope]
  if (cluster_rank() == 1) mbarrier_wait_cluster(*full, 0);
}

// A barrier of block 1 that its thread 0 has initialised.
RULE(init_not_ordered) {
  SHARED;
  cluster_sync();
  if (me() == 0) mbarrier_init(*full, 1);  // [init]
  KEPT ? cluster_sync() : __syncthreads();
  if (cluster_rank() == 0 && me() == 0) remote_arrive(address_in(1, full));  // [arrive behind init]
  if (cluster_rank() == 1) mbarrier_wait_cluster(*full, 0);
}
RULE(relaxed_without_fence) {
  SHARED;
  if (me() == 0) mbarrier_init(*full, 1);  // [init without fence]
  if (me() == 0 && KEPT) fence_mbarrier_init();
  cluster_arrive_relaxed();
  __syncthreads();
  cluster_wait();
  if (cluster_rank() == 0 && me() == 0) remote_arrive(address_in(1, full));  // [arrive without fence]
  if (cluster_rank() == 1) mbarrier_wait_cluster(*full, 0);
}

RULE(bytes_too_many) {
  SMEM(1);
  if (me() == 0) mbarrier_arrive_expect_tx(*full, sizeof(float4));
  cluster_sync();
  if (cluster_rank() == 0 && me() < (KEPT ? 1 : 2)) st_async(&inbox[0][me()], 1, four(1), *full);  // [st.async of too many]
  cluster_sync();
  if (cluster_rank() == 1) mbarrier_wait_cluster(*full, 0);
}

// --- what ends a launch --------------------------------------------------------------------------

RULE(wait_without_arrive) {
  MET(1);
  if (KEPT) cluster_arrive();
  cluster_wait();  // [wait]
}

RULE(arrive_twice) {
  SMEM(1);
  cluster_arrive();
  if (KEPT) cluster_wait();
  cluster_arrive();  // [arrive again]
  cluster_wait();
}

RULE(one_warp_never_arrives) {
  SMEM(1);
  if (cluster_rank() == 1 && me() >= 32) mbarrier_wait(*full, 0);  // [stuck]
  cluster_sync();                                                 // [barrier]
}

RULE(one_lane_never_arrives) {
  SMEM(1);
  if (me() != 7) cluster_arrive();        // [arrive of 31]
  if (me() == 7) mbarrier_wait(*full, 0);  // [lane 7]
  cluster_wait();
}

RULE(rank_outside) {
  MET(1);
  if (other(3)) remote_store(address_in(KEPT ? 1 : 2, inbox), 1.f);  // [mapa]
  cluster_sync();
}

RULE(barrier_elsewhere) {
  MET(1);
  if (me() == 0) mbarrier_arrive_expect_tx(*full, KEPT && cluster_rank() == 1 ? sizeof(float4) : 0);
  if (cluster_rank() == 0 && me() == 3)
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [%0], {%1, %1, %1, %1}, [%2];" ::"r"(  // [st.async]
                     address_in(1, inbox)),
                 "f"(1.f), "r"(address_in(KEPT ? 1 : 0, full))
                 : "memory");
  mbarrier_wait_cluster(*full, 0);
  cluster_sync();
}

// Block (x, y) of a grid in clusters of 3 x 2: ranks count x first.
__global__ void ranks_of_a_plane() {
  const unsigned rank = blockIdx.x % 3 + 3 * (blockIdx.y % 2);
  cluster_sync();
  must(cluster_rank() == rank && cluster_size() == 6);
}
void launch_plane(dim3 grid, dim3 cluster) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {cluster.x, cluster.y, cluster.z};
  cudaLaunchConfig_t config{};
  config.gridDim = grid, config.blockDim = dim3(32), config.attrs = &attribute, config.numAttrs = 1;
  const cudaError_t error = cudaLaunchKernelEx(&config, ranks_of_a_plane);
  printf("%u x %u in %u x %u: %s, ", grid.x, grid.y, cluster.x, cluster.y, cudaGetErrorName(error ? error : cudaDeviceSynchronize()));
}

int main() {
  host::start();
  launch_plane(dim3(6, 4, 2), dim3(3, 2)), launch_plane(dim3(6, 1), dim3(4, 1)), launch_plane(dim3(4, 3), dim3(2, 2));
  launch_plane(dim3(16, 1), dim3(16, 1)), launch_plane(dim3(8, 1), dim3(2, 0));
  cudaFuncSetAttribute(ranks_of_a_plane, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
  launch_plane(dim3(32, 1), dim3(32, 1));
  cudaGetLastError();
  RIGHT(ranks, THREADS, 8, 4);
  RIGHT(merge_by_st_async, THREADS, 8, 4);
  RIGHT(merge_after_relaxed, THREADS, 8, 4);
  RIGHT(token_ring, THREADS, 8, 4);
  RIGHT(multicast_halves, THREADS, 8, 4);
  RIGHT(in_turns, THREADS, 8, 4);
  RIGHT(barrier_of_those_that_live, THREADS, 8, 4);
  BOTH(store_before_start, THREADS, 4, 2);
  BOTH(exit_before_store, THREADS, 4, 2);
  BOTH(exit_before_load, THREADS, 4, 2);
  BOTH(exit_before_arrive, THREADS, 4, 2);
  BOTH(exit_before_st_async, THREADS, 4, 2);
  BOTH(relaxed_hands_on_nothing, THREADS, 4, 2);
  BOTH(read_before_barrier, THREADS, 4, 2);
  BOTH(arrive_hands_on, THREADS, 4, 2);
  BOTH(read_before_bytes, THREADS, 4, 2);
  BOTH(st_async_over_write, THREADS, 4, 2);
  BOTH(written_under_readers, THREADS, 4, 2);
  BROKEN(written_under_both_blocks, THREADS, 4, 2);
  BOTH(two_blocks_write, THREADS, 4, 2);
  BOTH(queue, THREADS, 4, 2);
  BOTH(arrival_waited_for_by_cta, THREADS, 4, 2);
  BOTH(st_async_waited_for_by_cta, THREADS, 4, 2);
  BOTH(init_not_ordered, THREADS, 4, 2);
  BOTH(relaxed_without_fence, THREADS, 4, 2);
  BOTH(bytes_too_many, THREADS, 4, 2);
  BOTH(wait_without_arrive, THREADS, 4, 2);
  BOTH(arrive_twice, THREADS, 4, 2);
  BROKEN(one_warp_never_arrives, THREADS, 4, 2);
  BROKEN(one_lane_never_arrives, THREADS, 4, 2);
  BOTH(rank_outside, THREADS, 4, 2);
  BOTH(barrier_elsewhere, THREADS, 4, 2);
  RIGHT(merge_by_st_async, THREADS, 4, 2);
  RIGHT(token_ring, THREADS, 4, 2);
  RIGHT(multicast_halves, THREADS, 2, 1);
  RIGHT(in_turns, THREADS, 4, 2);
  return host::result();
}
