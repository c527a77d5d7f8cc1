// The emulator's instructions. The wrappers that call them say what they do: common/ptx, and inline_ptx.h for PTX of a
// CUDA file's own.
#pragma once
#include <cuda_fp16.h>

#include <cstddef>
#include <cstdint>

#include "common/tensor_map.hpp"

namespace lab::ptx {
struct MBarrier;
// A place in the shared memory of a block of the cluster.
struct RemoteShared {
  unsigned rank, offset;  // of the block, and in its memory
};
}  // namespace lab::ptx

namespace lab::cpu {
void mma_m16n8k16(float* c, const unsigned* a, const unsigned* b);
void mma_bf16(float* c, const unsigned* a, const unsigned* b);

void ldmatrix(unsigned* registers, const half* row, int matrices, bool transposed);

void stmatrix(half* row, const unsigned* registers, int matrices, bool transposed);

std::uint32_t shared_window(const void* pointer);
void wgmma_fence();
void wgmma(float* d, int n, std::uint64_t a_descriptor, const unsigned* a_registers, std::uint64_t b_descriptor,
           bool b_mn_major, bool accumulate, bool bf16 = false);
void wgmma_commit();
void wgmma_wait(unsigned groups_left);

void set_max_registers(int count, bool take);

void named_barrier(int id, int threads, bool waits);

void mbarrier_init(ptx::MBarrier* barrier, unsigned arrivals);
void mbarrier_arrive(ptx::MBarrier* barrier, unsigned expected_bytes, bool expects);
void mbarrier_wait(ptx::MBarrier* barrier, unsigned parity, bool cluster_scope);
bool mbarrier_try_wait(ptx::MBarrier* barrier, unsigned parity);
void fence_mbarrier_init();

void tma_load(void* shared, const TensorMap* map, const int* at, int rank, ptx::MBarrier* barrier);
void tma_store(const TensorMap* map, const void* shared, const int* at, int rank);
void bulk_load(void* shared, const void* global, unsigned bytes, ptx::MBarrier* barrier);
void bulk_store(void* global, const void* shared, unsigned bytes);
void bulk_commit();
void bulk_wait(unsigned groups_left, bool reads_only);
void prefetch_tensor_map(const TensorMap* map);
void fence_proxy_async();

unsigned cluster_rank();
unsigned cluster_size();
void cluster_arrive(bool release);
void cluster_wait();
ptx::RemoteShared map_shared(const void* mine, unsigned rank);
void remote_store(ptx::RemoteShared to, const void* value, unsigned bytes);
void remote_load(ptx::RemoteShared from, void* value, unsigned bytes);
void remote_store_async(ptx::RemoteShared to, const void* value, unsigned bytes, ptx::RemoteShared barrier);
void remote_arrive(ptx::RemoteShared barrier);
void tma_load_multicast(void* shared, const TensorMap* map, const int* at, int rank, ptx::MBarrier* barrier,
                        std::uint16_t blocks);

void grid_dependency_wait();
void launch_dependents();
}  // namespace lab::cpu
