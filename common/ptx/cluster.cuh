// Thread block clusters: up to eight blocks that run together, each of which reaches the others' shared memory
// (distributed shared memory); sm_90. A launch says how many: cudaLaunchAttributeClusterDimension. (PTX ISA,
// "barrier.cluster", "mapa", "st.async", "mbarrier.arrive".)
//
//   A block that is launched may not have started yet: before the first access to another's shared memory comes a
//   cluster barrier, or a signal from that block. And a block's shared memory is gone when the block ends: it must wait
//   until no thread writes to it, reads it or arrives at its barriers any more.
//   A plain store into another block's memory is visible to a thread that waits at the cluster's barrier after the
//   storing thread arrived there, or that waits for its remote mbarrier_arrive. A st_async is visible to a thread that
//   waits for the mbarrier that counts its bytes. Both waits are mbarrier_wait_cluster: a wait acquires at .cta scope
//   unless it says otherwise, and a release by another block's thread needs a scope that includes both threads. (PTX
//   ISA, "Morally strong operations"; "st.async": its complete-tx "has .release semantics at the .cluster scope".)
#pragma once
#include <cuda.h>

#include "common/ptx/mbarrier.cuh"
#include "common/tile.cuh"

namespace lab::ptx {

// %cluster_ctarank: of this block in its cluster, x first; 0 without a cluster.
__device__ __forceinline__ unsigned cluster_rank() {
  unsigned rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

// %cluster_nctarank: blocks in the cluster.
__device__ __forceinline__ unsigned cluster_size() {
  unsigned size;
  asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
  return size;
}

// barrier.cluster.arrive.release.aligned: by every thread of every block, by all lanes of a warp together. A thread
// that has returned counts as arrived.
__device__ __forceinline__ void cluster_arrive() {
  asm volatile("barrier.cluster.arrive.release.aligned;" : : : "memory");
}

// barrier.cluster.arrive.relaxed.aligned: the same, and it says no more than that the block has started and, after
// fence_mbarrier_init(), that the thread's mbarriers are initialised. Earlier stores of the thread are not published;
// so it need not wait for it, as the release does: that is compiled to a fence for the whole GPU.
__device__ __forceinline__ void cluster_arrive_relaxed() {
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" : : : "memory");
}

// barrier.cluster.wait.acquire.aligned: until all have arrived. Once after each arrival.
__device__ __forceinline__ void cluster_wait() { asm volatile("barrier.cluster.wait.acquire.aligned;" : : : "memory"); }

// Both: every thread waits until all have arrived.
__device__ __forceinline__ void cluster_sync() {
  cluster_arrive();
  cluster_wait();
}

// mbarrier.try_wait.parity.acquire.cluster: mbarrier_wait() for a barrier at which threads of other blocks arrive or
// st_async counts.
__device__ __forceinline__ void mbarrier_wait_cluster(MBarrier& barrier, unsigned parity) {
  unsigned done = 0;
  while (!done)
    asm volatile(
        "{\n"
        ".reg .pred complete;\n"
        "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 complete, [%1], %2;\n"
        "selp.u32 %0, 1, 0, complete;\n"
        "}\n"
        : "=r"(done)
        : "r"(shared_address(&barrier)), "r"(parity)
        : "memory");
}

// cp.async.bulk.tensor.2d ... .multicast::cluster: tma_load_2d() for several blocks at once: into each of `blocks` (bit
// r: rank r), at the place where `shared` lies in this one, and counted by the barrier where `barrier` lies.
__device__ __forceinline__ void tma_load_2d_multicast(void* shared, const CUtensorMap& map, int x, int y,
                                                      MBarrier& barrier, std::uint16_t blocks) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, "
      "{%2, %3}], [%4], %5;"
      :
      : "r"(shared_address(shared)), "l"(&map), "r"(x), "r"(y), "r"(shared_address(&barrier)), "h"(blocks)
      : "memory");
}

// mapa.shared::cluster.u32: the address of `mine`, a place in this block's shared memory, in that of block `rank`.
__device__ __forceinline__ unsigned address_in(unsigned rank, const void* mine) {
  unsigned theirs;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(theirs) : "r"(shared_address(mine)), "r"(rank));
  return theirs;
}

// st.shared::cluster: a plain store to `to` in the memory of block `rank`; a float4 wants 16 bytes' alignment.
__device__ __forceinline__ void remote_store(void* to, unsigned rank, float value) {
  asm volatile("st.shared::cluster.f32 [%0], %1;" : : "r"(address_in(rank, to)), "f"(value) : "memory");
}
__device__ __forceinline__ void remote_store(void* to, unsigned rank, float4 value) {
  asm volatile("st.shared::cluster.v4.f32 [%0], {%1, %2, %3, %4};"
               :
               : "r"(address_in(rank, to)), "f"(value.x), "f"(value.y), "f"(value.z), "f"(value.w)
               : "memory");
}

// mbarrier.arrive.release.cluster.shared::cluster.b64: one arrival at `barrier` of block `rank`.
__device__ __forceinline__ void mbarrier_arrive(MBarrier& barrier, unsigned rank) {
  asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];"
               :
               : "r"(address_in(rank, &barrier))
               : "memory");
}

// st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.f32: to `to` in the memory of block `rank`. The thread goes on,
// and when the 16 bytes are there, that block's `barrier` counts them.
__device__ __forceinline__ void st_async(void* to, unsigned rank, float4 value, MBarrier& barrier) {
  asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [%0], {%1, %2, %3, %4}, [%5];"
               :
               : "r"(address_in(rank, to)), "f"(value.x), "f"(value.y), "f"(value.z), "f"(value.w),
                 "r"(address_in(rank, &barrier))
               : "memory");
}

}  // namespace lab::ptx
