// mbarriers, named barriers, setmaxnreg: who waits for whom, what is in flight when a block ends, and what is said of a deadlock.
#include "rules.cuh"
#include "common/ptx/barrier.cuh"
#include "common/ptx/mbarrier.cuh"
#include "common/ptx/tma.cuh"
using namespace lab::ptx;

constexpr unsigned BOX = 1024;  // bytes
constexpr int ITEMS = 512;      // halves of a box
struct Smem {
  alignas(1024) half tiles[2 * ITEMS];
  MBarrier full[2], empty[2];
};
#define SHARED                                              \
  extern __shared__ __align__(1024) unsigned char shared[]; \
  Smem& smem = *reinterpret_cast<Smem*>(shared);            \
  [[maybe_unused]] half* const tile = smem.tiles;           \
  [[maybe_unused]] MBarrier *const full = smem.full, *const empty = smem.empty
#define SMEM(empties)                                                                                    \
  SHARED;                                                                                                \
  if (threadIdx.x == 0) {                                                                                \
    for (int i = 0; i < 2; ++i) mbarrier_init(full[i], 1), mbarrier_init(empty[i], empties);           \
    fence_mbarrier_init();                                                                               \
  }                                                                                                      \
  __syncthreads()

__device__ void load(const Maps& maps, half* tile, MBarrier* full, int row = 0) {
  mbarrier_arrive_expect_tx(*full, BOX);
  tma_load_2d(tile, maps.in, 0, row, *full);  // [load]
}

// --- initialisation ------------------------------------------------------------------------------

RULE(init_fenced) {
  SHARED;
  if (threadIdx.x == 0) mbarrier_init(*full, 1);  // [init]
  if (threadIdx.x == 0 && KEPT) fence_mbarrier_init();
  __syncthreads();
  if (threadIdx.x == 33) load(maps, tile, full);
  mbarrier_wait(*full, 0);
}

RULE(init_fenced_for_the_proxy) {
  SHARED;
  if (threadIdx.x == 0) mbarrier_init(*full, 1), fence_proxy_async();
  __syncthreads();
  if (threadIdx.x == 33) load(maps, tile, full);
  mbarrier_wait(*full, 0);
}

RULE(init_ordered) {
  SHARED;
  if (threadIdx.x == 0) mbarrier_init(*full, 1), fence_mbarrier_init();  // [init before a shuffle]
  KEPT ? __syncthreads() : void(__shfl_sync(0xFFFFFFFFu, 1, 0));        // warp 0 meets, and nothing is ordered by it
  if (threadIdx.x == 7) mbarrier_arrive(*full);                          // [use]
  if (threadIdx.x == 0) mbarrier_wait(*full, 0);                         // [wait]
}

// --- arrivals and waits --------------------------------------------------------------------------

// Warp 0 does something at `empty`, which counts `arrivals`; the other warps wait there and read what it wrote. Whether it is read
// before it was written is the schedule's choice; that it is wrong is not.
template <class Give>
__device__ void given(int* out, unsigned arrivals, Give give) {
  SMEM(arrivals);
  if (warp() == 0) return give(tile, empty);
  mbarrier_wait(*empty, 0);
  out[threadIdx.x] = bits(tile[lane() ^ 9]);  // [read]
}

RULE(arrival_after_the_write) {
  given(out, 32, [=](half* tile, MBarrier* empty) {
    if (!KEPT) mbarrier_arrive(*empty);
    tile[threadIdx.x] = half(0.0f);  // [write behind the arrival]
    if (KEPT) mbarrier_arrive(*empty);
  });
}

RULE(arrival_is_of_one_thread) {
  given(out, 1, [=](half* tile, MBarrier* empty) {
    tile[threadIdx.x] = half(0.0f);  // [write of each lane]
    if (KEPT) __syncwarp();
    if (threadIdx.x == 0) mbarrier_arrive(*empty);
  });
}

// Warp 0 writes; warp 1 hears of it and tells warp 2, or has told it before.
RULE(arrivals_chain) {
  SMEM(32);
  if (warp() == 0) {
    tile[threadIdx.x] = half(0.0f);  // [write of the chain]
    mbarrier_arrive(*empty);
  } else if (warp() == 1) {
    if (!KEPT) mbarrier_arrive(empty[1]);
    mbarrier_wait(*empty, 0);
    if (KEPT) mbarrier_arrive(empty[1]);
  } else {
    mbarrier_wait(empty[1], 0);
    out[threadIdx.x] = bits(tile[lane()]);  // [read of the chain]
  }
}

RULE(arrivals_are_counted) {
  SMEM(96);
  if (warp() < 3) atomicAdd(out, 1), mbarrier_arrive(*empty);
  if (warp() < 3) return;
  mbarrier_wait(*empty, 0);
  must(atomicAdd(out, 0) == 96);
}

RULE(parities) {  // parity 1 passes on a fresh barrier, and each phase passes the wait for its own parity
  SMEM(1);
  for (unsigned phase = 0; phase < 5 && threadIdx.x == 0; ++phase) {
    must(!mbarrier_try_wait(*full, phase & 1));
    must(mbarrier_try_wait(*full, (phase & 1) ^ 1));
    mbarrier_wait(*full, (phase & 1) ^ 1);
    mbarrier_arrive(*full);
  }
}

RULE(phase_seen) {
  SMEM(1);
  if (threadIdx.x == 0) {
    mbarrier_arrive(*empty);
    if (KEPT) mbarrier_wait(*empty, 0);
    mbarrier_arrive(*empty);  // [second arrival]
    if (KEPT) mbarrier_wait(*empty, 1);
    mbarrier_arrive(*empty);
  }
  __syncthreads();
  if (threadIdx.x == 0 || !KEPT) mbarrier_wait(*empty, 0);  // [wait for the third]
}

RULE(one_lane_arrives_for_its_warp) {
  SMEM(2);
  if (warp() == 2)
    mbarrier_wait(*empty, 0);  // [wait for both warps]
  else if (lane() == 0 || !KEPT)
    mbarrier_arrive(*empty);  // [arrival of a lane]
}

// Warp 2 asks for the first phase of `empty` when its third is complete.
RULE(wait_late) {
  SMEM(1);
  for (unsigned phase = 0; phase < 3 && threadIdx.x == 0; ++phase) {
    mbarrier_arrive(*empty);
    mbarrier_wait(*empty, phase & 1);
  }
  if (threadIdx.x != 64) return;
  for (int i = 0; i < 64; ++i) mbarrier_try_wait(*full, 0);  // some time
  mbarrier_wait(*empty, 0);                                  // [late wait]
}

RULE(bytes_announced) {
  SMEM(1);
  if (threadIdx.x == 0) {
    mbarrier_arrive_expect_tx(*full, KEPT ? 2 * BOX : BOX);
    tma_load_2d(tile, maps.in, 0, 0, *full);          // [first of two]
    tma_load_2d(tile + ITEMS, maps.in, 0, 8, *full);  // [second of two]
  }
  mbarrier_wait(*full, 0);
}

RULE(barrier_read) {
  SMEM(1);
  if (threadIdx.x == 3) out[3] = int(*reinterpret_cast<unsigned*>(full));  // [read of a barrier]
}
RULE(barrier_written) {
  SMEM(1);
  if (threadIdx.x == 3) *reinterpret_cast<unsigned*>(full) = 0;  // [write of a barrier]
}

// Each of two warps takes every second phase, always by the same parity, and knows of the one between from the other.
RULE(alternate_phases) {
  SMEM(32);
  for (int round = 0; round < 6; ++round) {
    if (warp() == 2) {
      if (lane() == 0) {
        mbarrier_wait(*empty, unsigned(round & 1) ^ 1);
        tile[0] = half(0.0f);
        mbarrier_arrive(*full);
      }
      continue;
    }
    if (round % 2 == warp()) {
      mbarrier_wait(*full, unsigned(warp()));
      out[threadIdx.x] += bits(tile[0]);
      mbarrier_arrive(*empty);
    }
    barrier_sync(1, 64);
  }
}

// --- the block's end -----------------------------------------------------------------------------

RULE(load_waited_for_before_the_end) {
  SMEM(1);
  if (threadIdx.x == 0) load(maps, tile, full);
  if (threadIdx.x == 0 && KEPT) mbarrier_wait(*full, 0);
}

__device__ void store(const Maps& maps, half* tile, bool committed, bool waited) {
  for (int i = 0; i < ITEMS; ++i) tile[i] = half(0.0f);
  fence_proxy_async();
  tma_store_2d(maps.out, tile, 0, 0);  // [store]
  if (committed) bulk_commit();
  if (waited) bulk_wait_read<0>();
}
RULE(store_waited_for_before_the_end) {
  SMEM(1);
  if (threadIdx.x == 0) store(maps, tile, true, KEPT);
}
RULE(store_committed) {
  SMEM(1);
  if (threadIdx.x == 5) store(maps, tile, KEPT, true);
}

// --- named barriers ------------------------------------------------------------------------------

RULE(arrive_does_not_wait) {  // and a barrier is fresh after each use
  __shared__ int box[32];
  for (int round = 0; round < 7; ++round) {
    if (warp() == 0) {
      if (round > 0) barrier_sync(15, 64);
      box[threadIdx.x] = 100 * round + int(threadIdx.x);
      barrier_arrive(1, 64);
    } else {
      barrier_sync(1, 64);
      must(box[lane() ^ 5] == 100 * round + (lane() ^ 5));
      if (round < 6) barrier_arrive(15, 64);
    }
  }
}

RULE(arrivals_waited_for) {
  if (warp() < 2) barrier_arrive(7, 96);  // [left over]
  if (warp() == 2 && KEPT) barrier_sync(7, 96);
}

RULE(named_deadlock) {
  if (warp() == 3) return;
  if (warp() == 2)
    __syncthreads();  // [block barrier]
  else
    barrier_sync(5, 96);  // [barrier 5]
}

RULE(each_waits_for_the_other) { barrier_sync(KEPT ? 1 : warp() + 1, 64); }  // [barriers 1 and 2]

RULE(fresh_after_a_stop) {
  SMEM(96);
  barrier_sync(1, 96), barrier_sync(5, 96);
  mbarrier_arrive(*empty);
  mbarrier_wait(*empty, 0);
}

// --- deadlocks at mbarriers ----------------------------------------------------------------------

RULE(freed_by_too_few) {  // 33 of 64 come in the second phase
  SMEM(64);
  if (threadIdx.x == 0) {
    for (int round = 0; round < 3; ++round) {
      mbarrier_wait(*empty, unsigned(round & 1) ^ 1);  // [wait for the readers]
      if (KEPT && round == 2) return;
      load(maps, tile, full);
    }
  } else if (threadIdx.x >= 32) {
    mbarrier_wait(*full, 0);
    fence_proxy_async();
    mbarrier_arrive(*empty);  // [free]
    mbarrier_wait(*full, 1);
    if (threadIdx.x == 40 && !KEPT) return;
    if (threadIdx.x < 64 || KEPT) mbarrier_arrive(*empty);  // [free again]
  }
}

RULE(second_load_never_asked_for) {
  SMEM(1);
  if (threadIdx.x == 3) load(maps, tile, full);
  mbarrier_wait(*full, 0);
  if (!KEPT) mbarrier_wait(*full, 1);  // [wait for no load]
}

// --- setmaxnreg ----------------------------------------------------------------------------------

RULE(released_and_taken) {  // a producer gives back what two consumers take
  if (threadIdx.x < 128)
    asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
  else
    asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
}

RULE(more_taken_than_there_is) {
  if (threadIdx.x < 128)
    asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
  else
    asm volatile("setmaxnreg.inc.sync.aligned.u32 248;");  // [take]
}

RULE(whole_warpgroup_releases) {
  if (threadIdx.x < 128 && (KEPT || warp() != 2)) asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");  // [release]
}

int main() {
  host::start();
  BOTH(init_fenced, 96);
  RIGHT(init_fenced_for_the_proxy, 96);
  BOTH(init_ordered, 96);
  BOTH(arrival_after_the_write, 96);
  BOTH(arrival_is_of_one_thread, 96);
  BOTH(arrivals_chain, 96);
  RIGHT(arrivals_are_counted, 128);
  RIGHT(parities, 96);
  BOTH(phase_seen, 96);
  BOTH(one_lane_arrives_for_its_warp, 96);
  BROKEN(wait_late, 96);
  BOTH(bytes_announced, 96);
  BROKEN(barrier_read, 96);
  BROKEN(barrier_written, 96);
  RIGHT(alternate_phases, 96);
  BOTH(load_waited_for_before_the_end, 96);
  BOTH(store_waited_for_before_the_end, 96);
  BOTH(store_committed, 96);
  RIGHT(arrive_does_not_wait, 64);
  BOTH(arrivals_waited_for, 96);
  BROKEN(named_deadlock, 128);
  BOTH(each_waits_for_the_other, 64);
  RIGHT(fresh_after_a_stop, 96);
  BOTH(freed_by_too_few, 96);
  BOTH(second_load_never_asked_for, 96);
  RIGHT(released_and_taken, 384);
  BROKEN(more_taken_than_there_is, 384);
  BOTH(whole_warpgroup_releases, 256);
  return host::result();
}
