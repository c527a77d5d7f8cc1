// A tile stored the other way round: one warpgroup has D, 64 rows and 32 columns, in the accumulator's layout, and wants
// its transpose in shared memory as halves, [32][PITCH], and from there in global memory, out[32][64].
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "common/ptx/mma.cuh"
#include "common/smem_plan.cuh"
#include "common/tile.cuh"
#include "common/wgmma_layout.hpp"

constexpr int ROWS = 64, COLUMNS = 32;
#ifdef SOLUTION
constexpr int PITCH = ROWS + 8;  // halves from one row of the transpose to the next
#else
constexpr int PITCH = ROWS;  // yours, at most ROWS + 32: halves from one row of the transpose to the next
#endif

// By all lanes of warp `warp` together: its 16 rows of D, d[16] in the accumulator's layout, into `to`.
__device__ void store_transposed(half* to, const float (&d)[COLUMNS / 2], int warp, int lane) {
#ifdef SOLUTION
  for (int first = 0; first < COLUMNS; first += 16) {
    unsigned r[4];
    for (int i = 0; i < 4; ++i) r[i] = lab::half_pair(d[first / 2 + 2 * i], d[first / 2 + 2 * i + 1]);
    const int matrix = lane / 8, column = first + matrix / 2 * 8 + lane % 8;
    lab::ptx::stmatrix_x4_trans(&to[column * PITCH + 16 * warp + matrix % 2 * 8], r);
  }
#else
  (void)to, (void)d, (void)warp, (void)lane;  // yours
#endif
}

__global__ void mechanism(const half* in, half* out) {
  lab::SmemCursor cursor;
  half* transpose = cursor.array<half>("transpose", COLUMNS, PITCH);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  float d[COLUMNS / 2];
  for (int i = 0; i < COLUMNS / 2; ++i) {  // stands for a product
    const auto [row, column] = lab::wgmma_layout::d(threadIdx.x, i);
    d[i] = in[row * COLUMNS + column];
  }
  store_transposed(transpose, d, warp, lane);
  __syncthreads();
  for (int i = threadIdx.x * 8; i < ROWS * COLUMNS; i += 128 * 8)
    *reinterpret_cast<uint4*>(&out[i]) = *reinterpret_cast<const uint4*>(&transpose[i / ROWS * PITCH + i % ROWS]);
}
