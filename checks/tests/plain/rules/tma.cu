// TMA's loads and stores, and fence.proxy.async.
#include "rules.cuh"
#include "common/ptx/barrier.cuh"
#include "common/ptx/mbarrier.cuh"
#include "common/ptx/tma.cuh"
#include "common/ptx/wgmma.cuh"
using namespace lab::ptx;

constexpr unsigned BOX = 1024;  // bytes
constexpr int ITEMS = 512;      // halves of a box
struct Smem {
  alignas(1024) half tiles[2 * ITEMS];
  MBarrier full[2], empty[2];
};
__device__ void begin(Smem& smem, unsigned empties) {
  if (threadIdx.x == 0) {
    for (int i = 0; i < 2; ++i) mbarrier_init(smem.full[i], 1), mbarrier_init(smem.empty[i], empties);
    fence_mbarrier_init();
  }
  __syncthreads();
}
#define SMEM(empties)                                       \
  extern __shared__ __align__(1024) unsigned char shared[]; \
  Smem& smem = *reinterpret_cast<Smem*>(shared);            \
  begin(smem, empties);                                     \
  [[maybe_unused]] half* const tile = smem.tiles;           \
  [[maybe_unused]] MBarrier *const full = smem.full, *const empty = smem.empty

__device__ void fill(half* tile, int first, int step) {
  for (int i = first; i < ITEMS; i += step) tile[i] = half(0.0f);  // [write]
}
__device__ void fill(half* tile) { fill(tile, int(threadIdx.x), int(blockDim.x)); }
__device__ void load(const Maps& maps, half* tile, MBarrier* full, int row = 0) {
  mbarrier_arrive_expect_tx(*full, BOX);
  tma_load_2d(tile, maps.in, 0, row, *full);  // [load]
}
__device__ void store(const Maps& maps, const half* tile, int row = 0) {
  tma_store_2d(maps.out, tile, 0, row);  // [store]
  bulk_commit();
}

// --- loads and their waits -----------------------------------------------------------------------

RULE(load_waited_for) {
  SMEM(1);
  if (threadIdx.x == 0) load(maps, tile, full);
  __syncthreads();
  if (KEPT) mbarrier_wait(*full, 0);
  if (threadIdx.x == 9) out[9] = bits(tile[5]);  // [read]
  mbarrier_wait(*full, 0);
}

RULE(load_waited_for_by_one) {
  SMEM(1);
  if (threadIdx.x == 0) load(maps, tile, full);
  __syncthreads();
  if (threadIdx.x == 0 || KEPT) mbarrier_wait(*full, 0);
  if (threadIdx.x == 0 || threadIdx.x == 3) out[threadIdx.x] = bits(tile[5]);  // [read by another]
}

RULE(load_under_a_write) {
  SMEM(1);
  if (threadIdx.x == 0) {
    load(maps, tile, full);
    if (KEPT) mbarrier_wait(*full, 0);
    tile[7] = half(0.0f);  // [write under the load]
  }
  mbarrier_wait(*full, 0);
}

RULE(load_over_a_load) {
  SMEM(1);
  if (threadIdx.x == 0) {
    mbarrier_arrive_expect_tx(*full, 2 * BOX);
    tma_load_2d(tile, maps.in, 0, 0, *full);                       // [first load]
    tma_load_2d(tile + (KEPT ? ITEMS : 0), maps.in, 0, 8, *full);  // [second load]
  }
  mbarrier_wait(*full, 0);
}

// Thread 0 waits, and hands on what it has seen: to its warp, by a named barrier, by an mbarrier.
RULE(load_handed_on) {
  SMEM(1);
  if (threadIdx.x == 0) load(maps, tile, full), mbarrier_wait(*full, 0);
  if (threadIdx.x == 0) mbarrier_arrive(*empty);
  __syncwarp();
  if (warp() == 0) barrier_arrive(1, 64);
  if (warp() == 1) barrier_sync(1, 64);
  if (warp() == 2) mbarrier_wait(*empty, 0);
  out[threadIdx.x] = bits(tile[threadIdx.x]);
}

RULE(load_polled) {
  SMEM(1);
  if (threadIdx.x == 0) load(maps, tile, full);
  if (warp() == 1 && !mbarrier_try_wait(*full, 0)) mbarrier_wait(*full, 0);
  if (warp() == 2)
    while (!mbarrier_try_wait(*full, 0)) {
    }
  if (warp()) out[threadIdx.x] = bits(tile[threadIdx.x]);
}

// The swizzle is one of the address: a box that starts 128 bytes late is exchanged differently.
RULE(tile_on_the_pattern) {
  SMEM(1);
  half* const to = tile + (KEPT ? 0 : 64);
  if (threadIdx.x == 0) {
    mbarrier_arrive_expect_tx(*full, BOX);
    tma_load_2d(to, maps.swizzled, 0, 0, *full);  // [swizzled]
  }
  mbarrier_wait(*full, 0);
  for (int i = int(threadIdx.x); i < ITEMS; i += int(blockDim.x)) {
    const int row = i / 64 + (KEPT ? 0 : 1), chunk = i % 64 / 8;
    must(__half2float(tile[row * 64 + (chunk ^ row % 8) * 8 + i % 8]) == float(i % 37));
  }
}

RULE(contiguous_both_ways) {
  SMEM(1);
  if (threadIdx.x == 3) {
    mbarrier_arrive_expect_tx(*full, 96);
    bulk_load(tile + 8, data + 16, 96, *full);
  }
  mbarrier_wait(*full, 0);
  if (threadIdx.x == 9) {
    bulk_store(out + 4, tile + 8, 96);
    bulk_commit();
    bulk_wait<0>();
  }
}

// --- fence.proxy.async ---------------------------------------------------------------------------

// Thread 64 stores what others have written, behind a block barrier.
template <class Write>
__device__ void stored(const Maps& maps, Write write) {
  SMEM(1);
  write(tile);
  __syncthreads();
  if (threadIdx.x == 64) store(maps, tile), bulk_wait_read<0>();
}

RULE(fence_after_the_write) {
  stored(maps, [=](half* tile) {
    if (!KEPT) fence_proxy_async();
    for (int i = int(threadIdx.x); i < ITEMS; i += int(blockDim.x)) tile[i] = half(0.0f);  // [write behind the fence]
    if (KEPT) fence_proxy_async();
  });
}

// Warp 1 fences what it has not seen.
RULE(fence_by_who_sees_the_write) {
  stored(maps, [=](half* tile) {
    for (int i = lane(); warp() == 0 && i < ITEMS; i += 32) tile[i] = half(0.0f);  // [write of warp 0]
    if (KEPT) __syncthreads();
    if (warp() == 1) fence_proxy_async();
  });
}

RULE(fence_after_cp_async) {
  stored(maps, [=](half* tile) {
    for (int i = int(threadIdx.x) * 8; i < ITEMS; i += int(blockDim.x) * 8)
      __pipeline_memcpy_async(tile + i, data + i, 16);  // [copy]
    __pipeline_commit();
    __pipeline_wait_prior(0);
    if (KEPT) fence_proxy_async();
  });
}

RULE(fence_before_a_load) {
  SMEM(1);
  fill(tile);
  if (KEPT) fence_proxy_async();
  __syncthreads();
  if (threadIdx.x == 0) load(maps, tile, full);
  mbarrier_wait(*full, 0);
  out[threadIdx.x] = bits(tile[threadIdx.x]);
}

// Descending, the store comes first and reads what nothing has written.
RULE(barrier_before_a_store) {
  SMEM(1);
  for (int i = lane(); warp() == 0 && i < ITEMS; i += 32) tile[i] = half(0.0f);  // [write before the barrier]
  fence_proxy_async();
  if (KEPT) __syncthreads();
  if (threadIdx.x != 64) return;
  mbarrier_wait(*full, 1);
  store(maps, tile), bulk_wait_read<0>();
}

// --- readers before writers ----------------------------------------------------------------------

// A thread loads into each slot when it is free, warps wait for the load and consume(slot).
template <bool FENCES = true, class Consume>
__device__ void ring(const Maps& maps, unsigned empties, unsigned producer, int slots, int rounds, Consume consume) {
  SMEM(empties);
  for (int round = 0; round < rounds; ++round) {
    const int slot = round % slots;
    const unsigned parity = unsigned(round / slots) & 1;
    if (threadIdx.x == producer) {
      mbarrier_wait(empty[slot], parity ^ 1);
      if (FENCES) fence_proxy_async();
      mbarrier_arrive_expect_tx(full[slot], BOX);
      tma_load_2d(tile + slot * ITEMS, maps.in, 0, round * 8, full[slot]);  // [load of the ring]
    } else if (threadIdx.x / 32 != producer / 32) {
      mbarrier_wait(full[slot], parity);
      consume(tile + slot * ITEMS, empty + slot);
    }
  }
}

RULE(fence_after_the_reads) {  // one before the reads is none of theirs
  ring<false>(maps, 64, 0, 1, 7, [&](half* tile, MBarrier* empty) {
    if (!KEPT) fence_proxy_async();
    out[threadIdx.x] += bits(tile[threadIdx.x]);  // [read before the fence]
    if (KEPT) fence_proxy_async();
    mbarrier_arrive(*empty);
  });
}

// The order of threads chooses which shows first: a slot overwritten under a reader, a phase that a late warp misses, or a hang.
RULE(slot_freed_after_its_reads) {
  ring(maps, 64, 0, 2, 7, [&](half* tile, MBarrier* empty) {
    if (!KEPT) mbarrier_arrive(*empty);
    out[threadIdx.x] += bits(tile[threadIdx.x]);  // [read of the freed slot]
    if (KEPT) mbarrier_arrive(*empty);
  });
}

RULE(slot_freed_by_a_lane_for_its_warp) {
  ring(maps, 2, 0, 2, 7, [&](half* tile, MBarrier* empty) {
    out[threadIdx.x] += bits(tile[threadIdx.x]);  // [read of the warp's slot]
    if (KEPT) __syncwarp();
    if (lane() == 5) mbarrier_arrive(*empty);
  });
}

RULE(slot_counts_all_its_readers) {
  ring(maps, KEPT ? 64 : 32, 0, 2, 7, [&](half* tile, MBarrier* empty) {
    out[threadIdx.x] += bits(tile[threadIdx.x]);  // [read of the counted slot]
    mbarrier_arrive(*empty);
  });
}

RULE(store_waited_for) {
  SMEM(1);
  if (threadIdx.x) return;
  fill(tile, 0, 1);
  fence_proxy_async();
  store(maps, tile);
  if (KEPT) bulk_wait_read<0>();
  tile[17] = half(0.0f);  // [over the store]
  bulk_wait_read<0>();
}

RULE(store_of_the_last_group) {
  SMEM(1);
  if (threadIdx.x) return;
  fill(tile, 0, 1), fill(tile + ITEMS, 0, 1);
  fence_proxy_async();
  store(maps, tile);
  store(maps, tile + ITEMS, 8);
  bulk_wait_read<1>();
  tile[KEPT ? 17 : ITEMS + 17] = half(0.0f);  // [over the last group]
  bulk_wait<0>();
}

RULE(store_waited_for_by_its_issuer) {
  SMEM(1);
  fill(tile);
  fence_proxy_async();
  __syncthreads();
  if (threadIdx.x == 0) store(maps, tile);
  if (threadIdx.x == 0 && KEPT) bulk_wait_read<0>();
  __syncthreads();
  if (threadIdx.x == 50) tile[17] = half(0.0f);  // [over another's store]
  if (threadIdx.x == 0) bulk_wait_read<0>();
}

// --- products of wgmma, whose B is the tile ------------------------------------------------------

struct Product {
  float d[4] = {};
  unsigned a[4] = {};
};
// A warpgroup's products read the slot; thread 128 loads into it.
#define PRODUCT(tile)                                                    \
  Product product;                                                       \
  wgmma_fence();                                                         \
  wgmma<8>(product.d, product.a, wgmma_descriptor(tile, 0, 1024), true); \
  wgmma_commit()

RULE(slot_freed_after_its_product) {
  ring(maps, 128, 128, 1, 3, [&](half* tile, MBarrier* empty) {
    PRODUCT(tile);  // [product]
    if (KEPT) wgmma_wait<0>();
    mbarrier_arrive(*empty);
    wgmma_wait<0>();
  });
}

// A warp's wait says nothing of the other warps' part of the product.
RULE(slot_freed_by_all_warps) {
  ring(maps, KEPT ? 128 : 32, 128, 1, 3, [&](half* tile, MBarrier* empty) {
    PRODUCT(tile);  // [product of all warps]
    wgmma_wait<0>();
    if (KEPT || warp() == 0) mbarrier_arrive(*empty);
  });
}

RULE(product_waited_for_by_all_warps) {
  ring(maps, 128, 128, 1, 3, [&](half* tile, MBarrier* empty) {
    PRODUCT(tile);  // [product of a warp that waits]
    if (KEPT || warp() == 0) wgmma_wait<0>();
    barrier_sync(2, 128);
    mbarrier_arrive(*empty);
    wgmma_wait<0>();
  });
}

RULE(load_waited_for_by_all_warps) {
  SMEM(1);
  if (threadIdx.x == 128) load(maps, tile, full);
  __syncthreads();
  if (warp() == 0 || KEPT) mbarrier_wait(*full, 0);
  if (warp() == 4) return;
  PRODUCT(tile);  // [product of the load]
  wgmma_wait<0>();
}

int main() {
  host::start();
  BOTH(load_waited_for, 96);
  BOTH(load_waited_for_by_one, 96);
  BOTH(load_under_a_write, 96);
  BOTH(load_over_a_load, 96);
  RIGHT(load_handed_on, 96);
  RIGHT(load_polled, 96);
  BOTH(tile_on_the_pattern, 96);
  RIGHT(contiguous_both_ways, 96);
  BOTH(fence_after_the_write, 96);
  BOTH(fence_by_who_sees_the_write, 96);
  BOTH(fence_after_cp_async, 96);
  BOTH(fence_before_a_load, 96);
  BOTH(barrier_before_a_store, 96);
  BOTH(fence_after_the_reads, 96);
  BOTH(slot_freed_after_its_reads, 96);
  BOTH(slot_freed_by_a_lane_for_its_warp, 96);
  BOTH(slot_counts_all_its_readers, 96);
  BOTH(store_waited_for, 96);
  BOTH(store_of_the_last_group, 96);
  BOTH(store_waited_for_by_its_issuer, 96);
  BOTH(slot_freed_after_its_product, 160);
  BOTH(slot_freed_by_all_warps, 160);
  BOTH(product_waited_for_by_all_warps, 160);
  BOTH(load_waited_for_by_all_warps, 160);
  return host::result();
}
