// Uses of mbarriers, the copy engine and wgmma that PTX forbids: the launch fails, and the report names the instruction's line.
#include <cuda.h>
#include "both.h"
#include "common/ptx/mbarrier.cuh"
#include "common/ptx/tma.cuh"
#include "common/ptx/wgmma.cuh"

using namespace lab::ptx;

#define BARRIERS(count, arrivals) \
  __shared__ MBarrier full[count]; \
  if (t == 0) mbarrier_init(full[0], arrivals), fence_mbarrier_init(); \
  __syncthreads()

// --- mbarriers ---
KERNEL(of_one_not_initialised) {
  BARRIERS(2, 1);
  mbarrier_arrive(full[kept ? 0 : 1]);
}
KERNEL(outside_shared_memory) { mbarrier_try_wait(*(MBarrier*)out, 0); }
KERNEL(initialised_twice) {
  BARRIERS(1, 3);
  if (!kept) mbarrier_init(full[0], 3);
}
KERNEL(for_no_arrivals) { BARRIERS(1, 0); }
KERNEL(for_all_arrivals) { BARRIERS(1, kept ? (1u << 20) - 1 : 1u << 20); }
KERNEL(at_a_multiple_of_four) {
  __shared__ __align__(8) int words[4];
  mbarrier_init(*(MBarrier*)(words + 1), 1);
}
KERNEL(one_arrival_too_many) {
  BARRIERS(1, 1);
  mbarrier_arrive_expect_tx(full[0], 16);
  mbarrier_arrive(full[0]);
}
KERNEL(too_many_bytes) {
  BARRIERS(1, 1);
  mbarrier_arrive_expect_tx(full[0], 1u << 20);
}
KERNEL(too_many_bytes_in_two) {
  BARRIERS(1, 2);
  mbarrier_arrive_expect_tx(full[0], 600000);
  mbarrier_arrive_expect_tx(full[0], 600000);
}

// --- the copy engine ---
#define COPY(name, how) \
  template <bool> __global__ void name(int* out, const __grid_constant__ CUtensorMap made, const __grid_constant__ CUtensorMap none) { \
    __shared__ __align__(1024) unsigned char tile[2048]; \
    BARRIERS(1, 1); \
    how; \
  }
// Each asks for one copy.
COPY(to_half_a_piece, tma_load_2d(tile + 64, made, 0, 0, *full))
COPY(of_three_dimensions, tma_load_3d(tile, made, 0, 0, 0, *full))
COPY(without_a_map, tma_load_2d(tile, none, 0, 0, *full))
COPY(without_a_barrier, tma_load_2d(tile, made, 0, 0, *(MBarrier*)tile))
COPY(of_24_bytes, bulk_load(tile, out, 24, *full))
COPY(from_half_a_piece, bulk_load(tile, out + 2, 32, *full))
COPY(store_from_16_bytes_on, tma_store_2d(made, tile + 16, 0, 0))
COPY(to_no_shared_memory, tma_load_2d(out, made, 0, 0, *full))

// --- wgmma ---
#define PRODUCT(name, how) KERNEL(name) { \
    __shared__ __align__(1024) half a[64 * 64], b[64 * 64]; \
    for (int i = t; i < 64 * 64; i += blockDim.x) a[i] = b[i] = half(1.0f); \
    asm volatile("fence.proxy.async;" : : : "memory"); \
    __syncthreads(); \
    const Descriptor of_a = wgmma_descriptor(a, 0, 1024), of_b = wgmma_descriptor(b, 0, 1024); \
    float d[32]; \
    how; \
  }
PRODUCT(by_three_warps, wgmma<64>(d, of_a, of_b, false))
PRODUCT(of_two_operands, wgmma<64>(d, of_a, advance(of_b, warp == 2 ? 32 : 0), false))
PRODUCT(with_two_scales, wgmma<64>(d, of_a, of_b, t == 17))
PRODUCT(after_one_warps_commit, if (t < 32) wgmma_commit(); wgmma<64>(d, of_a, of_b, false))
PRODUCT(meets_syncwarp, if (lane < 5) __syncwarp(); else wgmma<64>(d, of_a, of_b, false))
PRODUCT(past_the_end, wgmma_fence(); wgmma<64>(d, of_a, wgmma_descriptor(b, 0, 2048), false); wgmma_commit(); wgmma_wait<0>())

int main() {
  BOTH(of_one_not_initialised, 1, 1);
  BROKEN(outside_shared_memory, 1, 32);
  BOTH(initialised_twice, 1, 1);
  BROKEN(for_no_arrivals, 1, 1);
  BOTH(for_all_arrivals, 1, 1);
  BROKEN(at_a_multiple_of_four, 1, 1);
  BROKEN(one_arrival_too_many, 1, 1);
  BROKEN(too_many_bytes, 1, 1);
  BROKEN(too_many_bytes_in_two, 1, 1);

  begin();
  CUtensorMap made, none = {};
  const cuuint64_t extent[] = {64, 16}, stride[] = {128};
  const cuuint32_t box[] = {64, 8}, each[] = {1, 1};
  void* encode = nullptr;
  cudaDriverEntryPointQueryResult found;
  cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &encode, 12000, cudaEnableDefault, &found);
  ((decltype(&cuTensorMapEncodeTiled))encode)(&made, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, out, extent, stride, box, each, CU_TENSOR_MAP_INTERLEAVE_NONE,
                         CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
#define REFUSED(kernel) kernel<false><<<1, 1>>>(out, made, none); end(false)
  REFUSED(to_half_a_piece);
  REFUSED(of_three_dimensions);
  REFUSED(without_a_map);
  REFUSED(without_a_barrier);
  REFUSED(of_24_bytes);
  REFUSED(from_half_a_piece);
  REFUSED(store_from_16_bytes_on);
  REFUSED(to_no_shared_memory);

  BROKEN(by_three_warps, 1, 96);
  BROKEN(of_two_operands, 1, 128);
  BROKEN(with_two_scales, 1, 128);
  BROKEN(after_one_warps_commit, 1, 128);
  BROKEN(meets_syncwarp, 1, 128);
  BROKEN(past_the_end, 1, 128);
  done();
}
