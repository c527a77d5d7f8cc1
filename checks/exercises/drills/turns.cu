// Two warpgroups take turns at the tensor cores. `in` holds Q, 128 rows of 64 halves, and then the tiles of K, 64 x 64
// each: row n of K_t has column n of K_t^T. Warpgroup g has rows 64 g .. 64 g + 63 of Q. out[row] is the sum of all
// positive elements of that row of Q K_t^T, over all tiles.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "common/hopper/descriptors.cuh"
#include "common/hopper/swizzle.cuh"
#include "common/ptx/barrier.cuh"
#include "common/ptx/tma.cuh"
#include "common/ptx/wgmma.cuh"
#include "common/smem_plan.cuh"
#include "common/warp.cuh"

constexpr int TILE = 64 * 64, MOST_TILES = 2, THREADS = 256;
constexpr int TURN = 1;  // named barriers: TURN + g says that it is warpgroup g's turn

// Adds each row's positive elements to sums[row]; s[32] in the accumulator's layout, rows from `first_row` on.
__device__ void add_up(float* sums, int first_row, const float (&s)[32]) {
  for (int h = 0; h < 2; ++h) {
    float sum = 0;
    for (int i = 2 * h; i < 32; i += 4) sum += fmaxf(s[i], 0.0f) + fmaxf(s[i + 1], 0.0f);
    sum = lab::quad_sum(sum);
    if (threadIdx.x % 4 == 0) sums[first_row + threadIdx.x % 32 / 4 + 8 * h] += sum;
  }
}

__global__ void mechanism(const half* in, int tiles, float* out) {
  lab::AlignedSmemCursor cursor;
  half* q = cursor.array<half, lab::SWIZZLE_ALIGN>("q", 2 * 64, 64);
  half* k = cursor.array<half, lab::SWIZZLE_ALIGN>("k", MOST_TILES * 64, 64);
  float* sums = cursor.array<float>("sums", 128, 1);
  for (int i = threadIdx.x; i < TILE; i += THREADS) {
    const int at = lab::swizzled<64>(i / 64, i % 64);
    q[at] = in[i], q[TILE + at] = in[TILE + i];
    for (int t = 0; t < tiles; ++t) k[t * TILE + at] = in[(2 + t) * TILE + i];
  }
  if (threadIdx.x < 128) sums[threadIdx.x] = 0.0f;
  lab::ptx::fence_proxy_async();
  __syncthreads();
  const int group = threadIdx.x / 128, first_row = threadIdx.x / 32 * 16;
  float s[32];
#ifdef SOLUTION
  if (group == 1) lab::ptx::barrier_arrive(TURN + 0, THREADS);
  for (int t = 0; t < tiles; ++t) {
    lab::ptx::barrier_sync(TURN + group, THREADS);
    lab::ptx::wgmma_fence();
    for (int i = 0; i < 4; ++i)
      lab::ptx::wgmma<64>(s, lab::advance_k<64>(lab::k_major_descriptor(q + group * TILE), i),
                          lab::advance_k<64>(lab::k_major_descriptor(k + t * TILE), i), i > 0);
    lab::ptx::wgmma_commit();
    lab::ptx::wgmma_wait<0>();
    lab::ptx::fence_registers(s);
    if (group == 0 || t + 1 < tiles) lab::ptx::barrier_arrive(TURN + 1 - group, THREADS);
    add_up(sums, first_row, s);
  }
#else
  (void)s, (void)group, (void)tiles;  // yours: the turns, the products, the sums
#endif
  __syncwarp();
  if (threadIdx.x % 32 < 16) out[first_row + threadIdx.x % 32] = sums[first_row + threadIdx.x % 32];
}
