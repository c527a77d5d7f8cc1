// A tile stored transposed: one warpgroup has D, 64 rows and 32 columns, in the accumulator's layout, and wants its
// transpose in shared memory as halves, [32][PITCH], and from there in global memory, [32][64] halves.
#include "checks/exercises/drills/drill.cuh"
#include "common/ptx/stmatrix.cuh"
#include "common/tile.cuh"
#include "common/wgmma_layout.hpp"

using namespace lab;

constexpr int ROWS = 64, COLUMNS = 32;
#ifdef SOLUTION
constexpr int PITCH = ROWS + 8;  // halves from one row of the transpose to the next
#else
constexpr int PITCH = ROWS;  // yours: halves from one row of the transpose to the next
#endif

// By all lanes of warp `warp` together: its 16 rows of D, d[16] in the accumulator's layout, into `to`.
__device__ void store_transposed(half* to, const float (&d)[COLUMNS / 2], int warp, int lane) {
#ifdef SOLUTION
  for (int first = 0; first < COLUMNS; first += 16) {
    unsigned r[4];
    for (int i = 0; i < 4; ++i) r[i] = half_pair(d[first / 2 + 2 * i], d[first / 2 + 2 * i + 1]);
    const int matrix = lane / 8, column = first + matrix / 2 * 8 + lane % 8;
    ptx::stmatrix_x4_trans(&to[column * PITCH + 16 * warp + matrix % 2 * 8], r);
  }
#else
                             // yours
#endif
}

__global__ void transpose(const half* in, half* out) {
  __shared__ alignas(16) half tile[COLUMNS * PITCH];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  float d[COLUMNS / 2];
  for (int i = 0; i < COLUMNS / 2; ++i) {  // stands for a product
    const auto [row, column] = wgmma_layout::d(threadIdx.x, i);
    d[i] = in[row * COLUMNS + column];
  }
  store_transposed(tile, d, warp, lane);
  __syncthreads();
  for (int i = threadIdx.x * 8; i < ROWS * COLUMNS; i += 128 * 8)
    *reinterpret_cast<uint4*>(&out[i]) = *reinterpret_cast<const uint4*>(&tile[i / ROWS * PITCH + i % ROWS]);
}

cudaError_t drill(const half* in, float* out, const int*, cudaStream_t stream) {
  transpose<<<1, 128, 0, stream>>>(in, reinterpret_cast<half*>(out));
  return cudaGetLastError();
}
