// Where the elements of a tile lie in shared memory. The tile has `rows` rows and `columns` columns of halves, and is
// cut into slabs of `width` columns, [columns / width][rows][width]; the copy engine swizzles each slab by 2 width
// bytes (width 64: 128 bytes, width 32: 64 bytes). The tile starts on 1024 bytes.
#include "checks/exercises/drills/drill.cuh"
#include "common/ptx/tma.cuh"

using namespace lab;

// The place of element (row, column), counted in halves from the tile's first.
__device__ int place_of(int row, int column, int rows, int width) {
#ifdef SOLUTION
  const int chunk = column % width / 8, turned = chunk ^ row * width / 64 % (width / 8);
  return (column / width * rows + row) * width + turned * 8 + column % 8;
#else
  return 0;          // yours
#endif
}

// The way back: which element lies at `place`.
__device__ void element_at(int place, int rows, int width, int& row, int& column) {
#ifdef SOLUTION
  row = place / width % rows;
  const int chunk = place % width / 8 ^ row * width / 64 % (width / 8);
  column = place / width / rows * width + chunk * 8 + place % 8;
#else
  row = column = 0;  // yours
#endif
}

// Copies the tile, slab by slab, and writes three times rows x columns numbers: the elements, found by place_of(); the
// elements, brought back by element_at(); the places themselves.
__global__ void copy_tile(const __grid_constant__ CUtensorMap map, int rows, int columns, int width, float* out) {
  extern __shared__ __align__(1024) half tile[];
  __shared__ ptx::MBarrier full;
  const int all = rows * columns;
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(full, 1);
    ptx::fence_mbarrier_init();
    ptx::mbarrier_arrive_expect_tx(full, all * sizeof(half));
    for (int slab = 0; slab < columns / width; ++slab)
      ptx::tma_load_2d(tile + slab * rows * width, map, slab * width, 0, full);
  }
  __syncthreads();
  ptx::mbarrier_wait(full, 0);
  for (int i = threadIdx.x; i < all; i += blockDim.x) {
    const int place = place_of(i / columns, i % columns, rows, width);
    out[i] = __half2float(tile[place]);
    out[2 * all + i] = float(place);
    int row, column;
    element_at(i, rows, width, row, column);
    out[all + row * columns + column] = __half2float(tile[i]);
  }
}

cudaError_t drill(const half* in, float* out, const int* size, cudaStream_t stream) {
  const int rows = size[0], columns = size[1], width = size[2];
  CUtensorMap map;
  if (const cudaError_t error = matrix_map(map, in, rows, columns, rows, width,
                                           width == 64 ? CU_TENSOR_MAP_SWIZZLE_128B : CU_TENSOR_MAP_SWIZZLE_64B))
    return error;
  copy_tile<<<1, 64, rows * columns * sizeof(half), stream>>>(map, rows, columns, width, out);
  return cudaGetLastError();
}
