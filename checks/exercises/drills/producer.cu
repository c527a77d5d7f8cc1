// A warp of its own for the copies: D = A B^T by wgmma, 64 columns of A and B at a time. `a` and `b` are maps of 64 rows
// of 64 * steps columns each, boxes of 64 x 64, swizzled by 128 bytes; out is D, [64][64].
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "common/hopper/descriptors.cuh"
#include "common/ptx/mbarrier.cuh"
#include "common/ptx/tma.cuh"
#include "common/ptx/wgmma.cuh"
#include "common/smem_plan.cuh"

constexpr int TILE = 64 * 64, SLOTS = 3, CONSUMERS = 4;  // warps 0 to 3 multiply, warp 4 asks for tiles

__global__ void mechanism(const __grid_constant__ lab::TensorMap a, const __grid_constant__ lab::TensorMap b, int steps,
                          float* out) {
  lab::AlignedSmemCursor cursor;
  half* sA = cursor.array<half, lab::SWIZZLE_ALIGN>("sA", SLOTS * 64, 64);
  half* sB = cursor.array<half, lab::SWIZZLE_ALIGN>("sB", SLOTS * 64, 64);
  auto* full = cursor.array<lab::ptx::MBarrier>("full", SLOTS, 1);
#ifdef SOLUTION
  auto* empty = cursor.array<lab::ptx::MBarrier>("empty", SLOTS, 1);
#else
  auto* empty = cursor.array<lab::ptx::MBarrier>("empty", SLOTS, 1);  // unused so far
#endif
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const auto request = [&](int t) {
    const int slot = t % SLOTS;
    lab::ptx::mbarrier_arrive_expect_tx(&full[slot], 2 * TILE * sizeof(half));
    lab::ptx::tma_load_2d(sA + slot * TILE, &a, 64 * t, 0, &full[slot]);
    lab::ptx::tma_load_2d(sB + slot * TILE, &b, 64 * t, 0, &full[slot]);
  };
  if (threadIdx.x == 0) {
    for (int slot = 0; slot < SLOTS; ++slot) {
      lab::ptx::mbarrier_init(&full[slot], 1);
      lab::ptx::mbarrier_init(&empty[slot], CONSUMERS);
    }
    lab::ptx::fence_mbarrier_init();
#ifdef SOLUTION
  }
  __syncthreads();
  if (warp == CONSUMERS) {
    for (int t = 0; t < steps && lane == 0; ++t) {
      lab::ptx::mbarrier_wait(&empty[t % SLOTS], t / SLOTS % 2 ^ 1);
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
  // One loop for all: thread 0 asks for a tile between two barriers, and nothing overlaps. Yours is a better one.
  for (int t = 0; t < steps; ++t) {
    const int slot = t % SLOTS;
    __syncthreads();
    if (threadIdx.x == 0 && t + SLOTS - 1 < steps) request(t + SLOTS - 1);
    if (warp == CONSUMERS) continue;
#endif
    lab::ptx::mbarrier_wait(&full[slot], t / SLOTS % 2);
    lab::ptx::wgmma_fence();
    for (int i = 0; i < 4; ++i)
      lab::ptx::wgmma<64>(d, lab::advance_k<64>(lab::k_major_descriptor(sA + slot * TILE), i),
                          lab::advance_k<64>(lab::k_major_descriptor(sB + slot * TILE), i), true);
    lab::ptx::wgmma_commit();
#ifdef SOLUTION
    lab::ptx::wgmma_wait<1>();
    if (t > 0 && lane == 0) lab::ptx::mbarrier_arrive(&empty[(t - 1) % SLOTS]);
  }
  lab::ptx::wgmma_wait<0>();
#else
    lab::ptx::wgmma_wait<0>();
  }
  if (warp == CONSUMERS) return;
#endif
  lab::ptx::fence_registers(d);
  const int g = lane / 4, c = lane % 4 * 2;
  for (int i = 0; i < 32; ++i) out[(16 * warp + g + i / 2 % 2 * 8) * 64 + i / 4 * 8 + c + i % 2] = d[i];
}
