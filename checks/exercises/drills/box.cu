// One TMA copy: the 8 x 64 box at row 16 of a matrix of 22 rows and 64 columns, under the 128-byte swizzle.
// out[r * 64 + c] is element (r, c) of the box; rows below the matrix are 0.
#include "checks/exercises/drills/drill.cuh"
#include "common/ptx/tma.cuh"

using namespace lab;

constexpr int ROWS = 8, COLUMNS = 64, MATRIX_ROWS = 22, FIRST_ROW = 16;

__global__ void load_box(const __grid_constant__ CUtensorMap map, float* out) {
  __shared__ alignas(1024) half box[ROWS][COLUMNS];
  __shared__ ptx::MBarrier full;
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(full, 1);
    ptx::fence_mbarrier_init();
#ifdef SOLUTION
    ptx::mbarrier_arrive_expect_tx(full, sizeof box);
    ptx::tma_load_2d(box, map, 0, FIRST_ROW, full);
  }
  __syncwarp();
  ptx::mbarrier_wait(full, 0);
  for (int r = 0; r < ROWS; ++r)
    for (int c = threadIdx.x; c < COLUMNS; c += 32)
      out[r * COLUMNS + c] = __half2float(box[r][(c / 8 ^ r % 8) * 8 + c % 8]);
#else
    ptx::mbarrier_arrive_expect_tx(full, 1);  // yours: how many bytes will come?
    ptx::tma_load_2d(box, map, 0, 0, full);   // yours: where does the box begin?
  }
  __syncwarp();
  // yours: when may the box be read?
  for (int r = 0; r < ROWS; ++r)
    for (int c = threadIdx.x; c < COLUMNS; c += 32)
      out[r * COLUMNS + c] = __half2float(box[r][c]);  // yours: where does (r, c) lie?
#endif
}

cudaError_t drill(const half* in, float* out, const int*, cudaStream_t stream) {
  CUtensorMap map;
  if (const cudaError_t error = matrix_map(map, in, MATRIX_ROWS, COLUMNS, ROWS, COLUMNS, CU_TENSOR_MAP_SWIZZLE_128B))
    return error;
  load_box<<<1, 32, 0, stream>>>(map, out);
  return cudaGetLastError();
}
