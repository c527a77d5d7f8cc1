// A TMA store epilogue: tiles from accumulators to global memory. One warpgroup makes `tiles` tiles of 64 rows and 64
// columns, one after the other, in the accumulator's layout of a 64 x 64 product, and rounds them to halves. `map` is of
// the result: rows of 64 halves, boxes of 64 x 64, swizzled by 128 bytes. It may have fewer than 64 * tiles rows; the
// engine leaves out what lies below the last.
#include "checks/exercises/drills/drill.cuh"
#include "common/ptx/tma.cuh"
#include "common/tile.cuh"
#include "common/wgmma_layout.hpp"

using namespace lab;

constexpr int ROWS = 64, COLUMNS = 64;

// Instead of a product: the thread's 32 elements of tile t.
__device__ void make_tile(float (&d)[32], const half* in, int t) {
  for (int i = 0; i < 32; ++i) {
    const auto [row, column] = wgmma_layout::d(threadIdx.x, i);
    d[i] = 2.0f * __half2float(in[(t * ROWS + row) * COLUMNS + column]);
  }
}

__global__ void store_tiles(const half* in, const __grid_constant__ CUtensorMap map, int tiles) {
  __shared__ alignas(1024) half box[ROWS][COLUMNS];
  float d[32];
  for (int t = 0; t < tiles; ++t) {
    make_tile(d, in, t);
#ifdef SOLUTION
    if (threadIdx.x == 0) ptx::bulk_wait_read<0>();
    __syncthreads();
    for (int i = 0; i < 32; i += 2) {
      const auto [row, column] = wgmma_layout::d(threadIdx.x, i);
      const int c = (column / 8 ^ row % 8) * 8 + column % 8;
      *reinterpret_cast<unsigned*>(&box[row][c]) = half_pair(d[i], d[i + 1]);
    }
    ptx::fence_proxy_async();
    __syncthreads();
    if (threadIdx.x == 0) {
      ptx::tma_store_2d(map, box, 0, t * ROWS);
      ptx::bulk_commit();
    }
  }
  if (threadIdx.x == 0) ptx::bulk_wait<0>();
#else
    // yours: the tile into the box, and from there to row 64 t of the result
  }
#endif
}

cudaError_t drill(const half* in, float* out, const int* size, cudaStream_t stream) {
  CUtensorMap map;
  if (const cudaError_t error = matrix_map(map, out, size[1], COLUMNS, ROWS, COLUMNS, CU_TENSOR_MAP_SWIZZLE_128B))
    return error;
  store_tiles<<<1, 128, 0, stream>>>(in, map, size[0]);
  return cudaGetLastError();
}
