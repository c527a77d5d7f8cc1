// Q takes the sign of scale (common/exp2_scale.cuh). wgmma reads Q where the copy engine put it, so a negative scale
// flips the signs in shared memory: before the products, by plain stores, which need a fence_proxy_async() and a
// barrier after them.
#pragma once
#include <cuda_fp16.h>

#include "common/ptx/barrier.cuh"
#include "common/ptx/tma.cuh"

namespace lab {

// By threads 0 .. THREADS - 1 of the block: the sign of each of a tile's COUNT halves, 8 of them at a time.
template <int COUNT, int THREADS>
__device__ __forceinline__ void flip_signs(half* tile) {
  for (int i = threadIdx.x * 8; i < COUNT; i += THREADS * 8) {
    uint4& x = *reinterpret_cast<uint4*>(&tile[i]);
    x = make_uint4(x.x ^ 0x80008000u, x.y ^ 0x80008000u, x.z ^ 0x80008000u, x.w ^ 0x80008000u);
  }
}

// All of it, where threads 0 .. THREADS - 1 are not the whole block: they meet at named barrier 1.
template <int COUNT, int THREADS>
__device__ __forceinline__ void take_sign(half* q, float scale) {
  if (scale < 0) {
    flip_signs<COUNT, THREADS>(q);
    ptx::fence_proxy_async();  // wgmma reads by another proxy
    ptx::barrier_sync(1, THREADS);
  }
}

}  // namespace lab
