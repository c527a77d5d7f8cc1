// The emulator's instructions. The wrappers that call them say what they do: common/ptx, and inline_ptx.h for PTX of a
// CUDA file's own.
#pragma once
#include <cuda_fp16.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "cuda.h"

namespace lab::cpu {
void mma_m16n8k16(float* c, const unsigned* a, const unsigned* b);
void mma_bf16(float* c, const unsigned* a, const unsigned* b);

void ldmatrix(unsigned* registers, const half* row, int matrices, bool transposed);

void stmatrix(half* row, const unsigned* registers, int matrices, bool transposed);

void wgmma_fence();
void wgmma(float* d, int n, std::uint64_t a_descriptor, const unsigned* a_registers, std::uint64_t b_descriptor,
           bool a_mn_major, bool b_mn_major, bool accumulate, bool bf16 = false);
void wgmma_commit();
void wgmma_wait(unsigned groups_left);

void set_max_registers(int count, bool take);

void named_barrier(int id, int threads, bool waits);

// An mbarrier is 8 bytes of shared memory, which are never looked at: they are opaque on a GPU too.
void mbarrier_init(void* barrier, unsigned arrivals);
void mbarrier_arrive(void* barrier, unsigned expected_bytes, bool expects);
bool mbarrier_try_wait(void* barrier, unsigned parity);
bool mbarrier_try_wait_cluster(void* barrier, unsigned parity);  // acquires at .cluster scope
void fence_mbarrier_init();

struct Box {
  const CUtensorMap* map;
  std::array<int, 5> at;
  int rank;
};
void tma_load(void* shared, const Box& box, void* barrier);
void tma_store(const Box& box, const void* shared);
void bulk_load(void* shared, const void* global, unsigned bytes, void* barrier);
void bulk_store(void* global, const void* shared, unsigned bytes);
void bulk_commit();
void bulk_wait(unsigned groups_left, bool reads_only);
void fence_proxy_async();

unsigned cluster_rank();
unsigned cluster_size();
void cluster_arrive(bool release);
void cluster_wait();
// A place in another block's shared memory: its rank + 1 above the 24 bits of an address in the block's own.
void remote_store(std::uint32_t to, const void* value, unsigned bytes);
void remote_load(std::uint32_t from, void* value, unsigned bytes);
void remote_store_async(std::uint32_t to, const void* value, unsigned bytes, std::uint32_t barrier);
void remote_arrive(std::uint32_t barrier);
void tma_load_multicast(void* shared, const Box& box, void* barrier, std::uint16_t blocks);

void grid_dependency_wait();
void launch_dependents();
}  // namespace lab::cpu
