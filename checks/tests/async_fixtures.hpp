// mbarriers and operands of wgmma, as the tests of asynchronous work begin with them.
#pragma once
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "common/ptx/mbarrier.cuh"
#include "common/ptx/tma.cuh"
#include "common/ptx/wgmma.cuh"
#include "common/smem_plan.cuh"

namespace lab {

// So many barriers behind each other, which thread 0 has initialised and all threads see.
template <class Cursor>
__device__ __forceinline__ ptx::MBarrier* barriers(Cursor& cursor, int count = 1, unsigned arrivals = 1,
                                                   const char* name = "full") {
  auto* all = cursor.template array<ptx::MBarrier>(name, count, 1);
  if (threadIdx.x == 0) {
    for (int i = 0; i < count; ++i) ptx::mbarrier_init(all + i, arrivals);
    ptx::fence_mbarrier_init();
  }
  __syncthreads();
  return all;
}

// Two swizzled tiles of 64 rows of 64 ones, which a product may read.
struct Tiles {
  half *a, *b;
  ptx::Descriptor of_a, of_b;
};
__device__ __forceinline__ Tiles tiles() {
  AlignedSmemCursor cursor;
  Tiles t{};
  t.a = cursor.array<half, SWIZZLE_ALIGN>("a", 64, 64);
  t.b = cursor.array<half, SWIZZLE_ALIGN>("b", 64, 64);
  for (unsigned i = threadIdx.x; i < 64 * 64; i += blockDim.x) t.a[i] = t.b[i] = half(1.0f);
  ptx::fence_proxy_async();
  __syncthreads();
  t.of_a = ptx::wgmma_descriptor(t.a, 0, 1024);
  t.of_b = ptx::wgmma_descriptor(t.b, 0, 1024);
  return t;
}

}  // namespace lab
