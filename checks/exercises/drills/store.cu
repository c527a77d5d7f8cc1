// The way out by the copy engine: tiles from accumulators to global memory. One warpgroup makes `tiles` tiles of 64 rows
// and 64 columns, one after the other, in the accumulator's layout of a 64 x 64 product, and rounds them to halves.
// `map` is of the result: rows of 64 halves, boxes of 64 x 64, swizzled by 128 bytes. It has fewer than 64 * tiles rows;
// the engine leaves out what lies below the last.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "common/hopper/swizzle.cuh"
#include "common/ptx/tma.cuh"
#include "common/smem_plan.cuh"
#include "common/tile.cuh"
#include "common/wgmma_layout.hpp"

constexpr int ROWS = 64, COLUMNS = 64;

// In place of a product: the thread's 32 elements of tile t.
__device__ void make_tile(float (&d)[32], const half* in, int t) {
  for (int i = 0; i < 32; ++i) {
    const auto [row, column] = lab::wgmma_layout::d(threadIdx.x, i);
    d[i] = 2.0f * __half2float(in[(t * ROWS + row) * COLUMNS + column]);
  }
}

__global__ void mechanism(const half* in, const __grid_constant__ lab::TensorMap map, int tiles) {
  lab::AlignedSmemCursor cursor;
  half* box = cursor.array<half, lab::SWIZZLE_ALIGN>("box", ROWS, COLUMNS);
  float d[32];
  for (int t = 0; t < tiles; ++t) {
    make_tile(d, in, t);
#ifdef SOLUTION
    if (threadIdx.x == 0) lab::ptx::bulk_wait_read<0>();
    __syncthreads();
    for (int i = 0; i < 32; i += 2) {
      const auto [row, column] = lab::wgmma_layout::d(threadIdx.x, i);
      *reinterpret_cast<unsigned*>(&box[lab::swizzled<ROWS>(row, column)]) = lab::half_pair(d[i], d[i + 1]);
    }
    lab::ptx::fence_proxy_async();
    __syncthreads();
    if (threadIdx.x == 0) {
      lab::ptx::tma_store_2d(&map, box, 0, t * ROWS);
      lab::ptx::bulk_commit();
    }
  }
  if (threadIdx.x == 0) lab::ptx::bulk_wait<0>();
#else
    (void)box;  // yours: the tile into the box, and from there to row 64 t of the result
  }
#endif
}
