// The copy engine (TMA): one thread asks for a box of a tensor and goes on; the engine writes it into shared memory and
// tells an mbarrier how many bytes it wrote. sm_90. (PTX ISA, "cp.async.bulk" and "cp.async.bulk.tensor".)
//
//   A load's destination is .shared::cluster, and takes the block's own address: the window of shared::cta lies within
//   that of shared::cluster (PTX ISA), so the same number names the same byte in both.
//
//   The part of a box outside the tensor arrives as zeros and counts as bytes. The destination is 128-byte aligned,
//   and starts on 1024, 512 or 256 bytes with a swizzle of 128, 64 or 32.
//   Its first column is a multiple of 8 halves, and a store begins at no negative place: anything else is an illegal
//   instruction. Under a swizzle a row takes as much as that spans, however short it is. (Both seen on an H200 by
//   `make probe what=wgmma`; the manual does not say so.)
//
//   While it writes, it counts in steps of 32 bytes or multiples of that, which differ from run to run. A phase ends if
//   its count is exactly zero after one of them: of too few announced bytes it sometimes ends early and sometimes
//   never. (Seen there as well, on rows of 32 bytes and more and on contiguous copies.)
//
// The engine reads and writes by the asynchronous proxy: what threads wrote by plain stores it sees only after
// fence_proxy_async() by them, and then a barrier with the thread that asks. Waiting on the mbarrier shows its bytes.
#pragma once
#include <cuda.h>

#include "common/ptx/mbarrier.cuh"
#include "common/tile.cuh"

namespace lab::ptx {

// cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes: the box whose first element is at
// column x of row y.
__device__ __forceinline__ void tma_load_2d(void* shared, const CUtensorMap& map, int x, int y, MBarrier& barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
      :
      : "r"(shared_address(shared)), "l"(&map), "r"(x), "r"(y), "r"(shared_address(&barrier))
      : "memory");
}

// The same of a 3-D and a 4-D tensor.
__device__ __forceinline__ void tma_load_3d(void* shared, const CUtensorMap& map, int x, int y, int z,
                                            MBarrier& barrier) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], "
      "[%5];"
      :
      : "r"(shared_address(shared)), "l"(&map), "r"(x), "r"(y), "r"(z), "r"(shared_address(&barrier))
      : "memory");
}
__device__ __forceinline__ void tma_load_4d(void* shared, const CUtensorMap& map, int x, int y, int z, int w,
                                            MBarrier& barrier) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4, %5}], "
      "[%6];"
      :
      : "r"(shared_address(shared)), "l"(&map), "r"(x), "r"(y), "r"(z), "r"(w), "r"(shared_address(&barrier))
      : "memory");
}

// cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group: writes a box back; what lies outside the tensor is not
// written. bulk_commit and bulk_wait say when its bytes have been read, and written.
__device__ __forceinline__ void tma_store_2d(const CUtensorMap& map, const void* shared, int x, int y) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];"
               :
               : "l"(&map), "r"(x), "r"(y), "r"(shared_address(shared))
               : "memory");
}
__device__ __forceinline__ void tma_store_3d(const CUtensorMap& map, const void* shared, int x, int y, int z) {
  asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [%0, {%1, %2, %3}], [%4];"
               :
               : "l"(&map), "r"(x), "r"(y), "r"(z), "r"(shared_address(shared))
               : "memory");
}

// cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes: `bytes` contiguous bytes, a multiple of 16.
__device__ __forceinline__ void bulk_load(void* shared, const void* global, unsigned bytes, MBarrier& barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
               :
               : "r"(shared_address(shared)), "l"(global), "r"(bytes), "r"(shared_address(&barrier))
               : "memory");
}

// cp.async.bulk.global.shared::cta.bulk_group.
__device__ __forceinline__ void bulk_store(void* global, const void* shared, unsigned bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
               :
               : "l"(global), "r"(shared_address(shared)), "r"(bytes)
               : "memory");
}

// cp.async.bulk.commit_group: this thread's stores since the last commit become a group.
__device__ __forceinline__ void bulk_commit() { asm volatile("cp.async.bulk.commit_group;" : : : "memory"); }

// cp.async.bulk.wait_group: until at most LEFT of this thread's groups are under way. ..._read: until the others have
// at least read their shared memory, so that it may be written again.
template <int LEFT>
__device__ __forceinline__ void bulk_wait() {
  asm volatile("cp.async.bulk.wait_group %0;" : : "n"(LEFT) : "memory");
}
template <int LEFT>
__device__ __forceinline__ void bulk_wait_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" : : "n"(LEFT) : "memory");
}

// prefetch.tensormap: a hint.
__device__ __forceinline__ void prefetch_tensor_map(const CUtensorMap& map) {
  asm volatile("prefetch.tensormap [%0];" : : "l"(&map) : "memory");
}

// fence.proxy.async.shared::cta: this thread's plain accesses to shared memory come before what the copy engine and
// wgmma do after it (once they are ordered after the fence).
__device__ __forceinline__ void fence_proxy_async() { asm volatile("fence.proxy.async.shared::cta;" : : : "memory"); }

}  // namespace lab::ptx
