// One TMA copy: the 8 x 32 box at row 16, column 32 of a matrix of 22 rows and 64 columns, under the 64-byte swizzle.
// out[r * 32 + c] is element (r, c) of the box; rows below the matrix are 0.
#include "checks/exercises/drills/drill.cuh"
#include "common/ptx/tma.cuh"

using namespace lab;

constexpr int ROWS = 8, COLUMNS = 32, FIRST_ROW = 16, FIRST_COLUMN = 32;
constexpr int MATRIX_ROWS = 22, MATRIX_COLUMNS = 64;

__global__ void load_box(const __grid_constant__ CUtensorMap map, float* out) {
  __shared__ alignas(512) half box[ROWS][COLUMNS];  // the swizzle goes by the address, with a period of 512 bytes
  __shared__ ptx::MBarrier full;
  const int c = threadIdx.x;
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(full, 1);
    ptx::fence_mbarrier_init();
#ifdef SOLUTION
    ptx::mbarrier_arrive_expect_tx(full, sizeof box);
    ptx::tma_load_2d(box, map, FIRST_COLUMN, FIRST_ROW, full);
  }
  __syncwarp();
  ptx::mbarrier_wait(full, 0);
  for (int r = 0; r < ROWS; ++r) out[r * COLUMNS + c] = __half2float(box[r][(c / 8 ^ r / 2 % 4) * 8 + c % 8]);
#else
    ptx::mbarrier_arrive_expect_tx(full, 1);  // yours: how many bytes will come?
    ptx::tma_load_2d(box, map, 0, 0, full);   // yours: where does the box begin?
  }
  __syncwarp();
  // yours: when may the box be read?
  for (int r = 0; r < ROWS; ++r) out[r * COLUMNS + c] = __half2float(box[r][c]);  // yours: where does (r, c) lie?
#endif
}

cudaError_t drill(const half* in, float* out, const int*, cudaStream_t stream) {
  CUtensorMap map;
  if (const cudaError_t error =
          matrix_map(map, in, MATRIX_ROWS, MATRIX_COLUMNS, ROWS, COLUMNS, CU_TENSOR_MAP_SWIZZLE_64B))
    return error;
  load_box<<<1, 32, 0, stream>>>(map, out);
  return cudaGetLastError();
}
