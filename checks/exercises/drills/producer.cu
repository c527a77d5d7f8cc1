// A producer warp: D = A B^T by wgmma, 64 columns of A and B per step. `in` holds A and then B, each 64 rows of 64 * steps
// halves, loaded in boxes of 64 x 64 under the 128-byte swizzle. `out` is D, [64][64].
#include "checks/exercises/drills/drill.cuh"
#include "common/ptx/tma.cuh"
#include "common/ptx/wgmma.cuh"
#include "common/wgmma_layout.hpp"

using namespace lab;

constexpr int SLOTS = 3, CONSUMERS = 4;  // warps 0 to 3 multiply, warp 4 requests tiles

struct Smem {
  alignas(1024) half A[SLOTS][64][64];
  alignas(1024) half B[SLOTS][64][64];
  ptx::MBarrier empty[SLOTS], full[SLOTS];  // `empty` is for you
};

__global__ void multiply(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b, int steps,
                         float* out) {
  extern __shared__ __align__(1024) unsigned char shared[];
  Smem& smem = *reinterpret_cast<Smem*>(shared);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const auto request = [&](int t) {
    const int slot = t % SLOTS;
    ptx::mbarrier_arrive_expect_tx(smem.full[slot], sizeof smem.A[slot] + sizeof smem.B[slot]);
    ptx::tma_load_2d(smem.A[slot], a, 64 * t, 0, smem.full[slot]);
    ptx::tma_load_2d(smem.B[slot], b, 64 * t, 0, smem.full[slot]);
  };
  if (threadIdx.x == 0) {
    for (int slot = 0; slot < SLOTS; ++slot)
      ptx::mbarrier_init(smem.full[slot], 1), ptx::mbarrier_init(smem.empty[slot], CONSUMERS);
    ptx::fence_mbarrier_init();
#ifdef SOLUTION
  }
  __syncthreads();
  if (warp == CONSUMERS) {
    for (int t = 0; t < steps && lane == 0; ++t) {
      ptx::mbarrier_wait(smem.empty[t % SLOTS], t / SLOTS % 2 ^ 1);
      request(t);
    }
    return;
  }
  float d[32] = {};
  for (int t = 0; t < steps; ++t) {
    const int slot = t % SLOTS;
#else
    for (int t = 0; t < SLOTS - 1 && t < steps; ++t) request(t);
  }
  float d[32] = {};
  // One loop for all warps: thread 0 requests a tile between two barriers, and nothing overlaps. Yours is a better one.
  for (int t = 0; t < steps; ++t) {
    const int slot = t % SLOTS;
    __syncthreads();
    if (threadIdx.x == 0 && t + SLOTS - 1 < steps) request(t + SLOTS - 1);
    if (warp == CONSUMERS) continue;
#endif
    ptx::mbarrier_wait(smem.full[slot], t / SLOTS % 2);
    ptx::wgmma_fence();
    for (int i = 0; i < 4; ++i)
      ptx::wgmma<64>(d, ptx::descriptor(&smem.A[slot][0][16 * i]), ptx::descriptor(&smem.B[slot][0][16 * i]), true);
    ptx::wgmma_commit();
#ifdef SOLUTION
    ptx::wgmma_wait<1>();
    if (t > 0 && lane == 0) ptx::mbarrier_arrive(smem.empty[(t - 1) % SLOTS]);
  }
  ptx::wgmma_wait<0>();
#else
    ptx::wgmma_wait<0>();
  }
  if (warp == CONSUMERS) return;
#endif
  ptx::fence_registers(d);
  for (int i = 0; i < 32; ++i) {
    const auto [row, column] = wgmma_layout::d(threadIdx.x, i);
    out[row * 64 + column] = d[i];
  }
}

cudaError_t drill(const half* in, float* out, const int* size, cudaStream_t stream) {
  const int steps = size[0], columns = 64 * steps;
  CUtensorMap a, b;
  if (const cudaError_t error = matrix_map(a, in, 64, columns, 64, 64, CU_TENSOR_MAP_SWIZZLE_128B)) return error;
  if (const cudaError_t error = matrix_map(b, in + 64 * columns, 64, columns, 64, 64, CU_TENSOR_MAP_SWIZZLE_128B))
    return error;
  if (const cudaError_t error =
          cudaFuncSetAttribute(multiply, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(Smem)))
    return error;
  multiply<<<1, 32 * (CONSUMERS + 1), sizeof(Smem), stream>>>(a, b, steps, out);
  return cudaGetLastError();
}
