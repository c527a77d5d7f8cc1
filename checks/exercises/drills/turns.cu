// Two warpgroups take turns at the tensor cores. `in` holds Q, 128 rows of 64 halves, and then the tiles of K, 64 x 64
// each: row n of K_t is column n of K_t^T. Warpgroup g has rows 64 g .. 64 g + 63 of Q. out[row] is the sum of all
// positive elements of that row of Q K_t^T, over all tiles.
#include "checks/exercises/drills/drill.cuh"
#include "common/ptx/barrier.cuh"
#include "common/ptx/tma.cuh"
#include "common/ptx/wgmma.cuh"
#include "common/warp.cuh"

using namespace lab;

constexpr int MOST_TILES = 2, THREADS = 256;
constexpr int TURN = 1;  // named barriers: TURN + g says that it is warpgroup g's turn

// Adds each row's positive elements to sums[row]; s[32] in the accumulator's layout, rows from `first_row` on.
__device__ void add_up(float* sums, int first_row, const float (&s)[32]) {
  for (int h = 0; h < 2; ++h) {
    float sum = 0;
    for (int i = 2 * h; i < 32; i += 4) sum += fmaxf(s[i], 0.0f) + fmaxf(s[i + 1], 0.0f);
    sum = quad_sum(sum);
    if (threadIdx.x % 4 == 0) sums[first_row + threadIdx.x % 32 / 4 + 8 * h] += sum;
  }
}

__global__ void add_scores(const half* in, int tiles, float* out) {
  __shared__ alignas(1024) half q[2 * 64][64];  // swizzled by 128 bytes, as k
  __shared__ alignas(1024) half k[MOST_TILES * 64][64];
  __shared__ float sums[128];
  for (int i = threadIdx.x; i < (2 + tiles) * 64 * 64; i += THREADS) {
    const int r = i / 64, c = (i / 8 ^ r) % 8 * 8 + i % 8;
    (r < 128 ? q[r] : k[r - 128])[c] = in[i];
  }
  if (threadIdx.x < 128) sums[threadIdx.x] = 0.0f;
  ptx::fence_proxy_async();
  __syncthreads();
  const int group = threadIdx.x / 128, first_row = threadIdx.x / 32 * 16;
  float s[32];
#ifdef SOLUTION
  if (group == 1) ptx::barrier_arrive(TURN + 0, THREADS);
  for (int t = 0; t < tiles; ++t) {
    ptx::barrier_sync(TURN + group, THREADS);
    ptx::wgmma_fence();
    for (int i = 0; i < 4; ++i)
      ptx::wgmma<64>(s, ptx::descriptor(&q[64 * group][16 * i]), ptx::descriptor(&k[64 * t][16 * i]), i > 0);
    ptx::wgmma_commit();
    ptx::wgmma_wait<0>();
    ptx::fence_registers(s);
    if (group == 0 || t + 1 < tiles) ptx::barrier_arrive(TURN + 1 - group, THREADS);
    add_up(sums, first_row, s);
  }
#else
  // yours: the turns, the products, the sums
#endif
  __syncwarp();
  if (threadIdx.x % 32 < 16) out[first_row + threadIdx.x % 32] = sums[first_row + threadIdx.x % 32];
}

cudaError_t drill(const half* in, float* out, const int* size, cudaStream_t stream) {
  add_scores<<<1, THREADS, 0, stream>>>(in, size[0], out);
  return cudaGetLastError();
}
