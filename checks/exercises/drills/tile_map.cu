// A tensor map, and a tile by one copy. The tensor is x[row][head][column]: ROWS rows, HEADS heads, COLUMNS columns of
// halves. A block takes the tile of TILE_ROWS rows from TILE_ROWS * blockIdx.x on, of head blockIdx.y; below the last
// row it has zeros. In shared memory the tile is [COLUMNS / 16][TILE_ROWS][16], swizzled by 32 bytes.
#include "checks/exercises/drills/drill.cuh"
#include "common/ptx/tma.cuh"

using namespace lab;

constexpr int ROWS = 21, HEADS = 3, COLUMNS = 80, TILE_ROWS = 16, TILES = 2, WIDTH = 16;
using Tile = half[COLUMNS / WIDTH][TILE_ROWS][WIDTH];

// The tensor as the copy engine is to see it, and the box of one copy; the innermost dimension first.
cudaError_t tile_map(CUtensorMap& map, const half* x) {
#ifdef SOLUTION
  constexpr int RANK = 4;
  const cuuint64_t size[] = {WIDTH, ROWS, COLUMNS / WIDTH, HEADS};
  const cuuint64_t stride[] = {HEADS * COLUMNS * 2, WIDTH * 2, COLUMNS * 2};
  const cuuint32_t box[] = {WIDTH, TILE_ROWS, COLUMNS / WIDTH, 1};
  constexpr auto SWIZZLE = CU_TENSOR_MAP_SWIZZLE_32B;
#else
  constexpr int RANK = 1;           // all of this is yours
  const cuuint64_t size[] = {0};    // elements
  const cuuint64_t stride[] = {0};  // bytes from one index to the next, of all dimensions but the innermost
  const cuuint32_t box[] = {0};     // elements
  constexpr auto SWIZZLE = CU_TENSOR_MAP_SWIZZLE_NONE;
#endif
  const cuuint32_t step[] = {1, 1, 1, 1, 1};  // every element
  return encode_tiled(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, RANK, const_cast<half*>(x), size, stride, box, step,
                      CU_TENSOR_MAP_INTERLEAVE_NONE, SWIZZLE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                      CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

// By one thread: requests the tile of `head` from row `row` on. `full` counts one arrival and the tile's bytes.
__device__ void request(Tile& tile, const CUtensorMap& map, int row, int head, ptx::MBarrier& full) {
#ifdef SOLUTION
  ptx::mbarrier_arrive_expect_tx(full, sizeof tile);
  ptx::tma_load_4d(tile, map, 0, row, 0, head, full);
#else
  // yours
#endif
}

// out[head][row][column], of as many rows as the tiles have.
__global__ void load_tile(const __grid_constant__ CUtensorMap map, float* out) {
  __shared__ alignas(1024) Tile tile;
  __shared__ ptx::MBarrier full;
  const int row = blockIdx.x * TILE_ROWS, head = blockIdx.y;
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(full, 1);
    ptx::fence_mbarrier_init();
    request(tile, map, row, head, full);
  }
  __syncthreads();
  ptx::mbarrier_wait(full, 0);
  for (int i = threadIdx.x; i < TILE_ROWS * COLUMNS; i += blockDim.x) {
    const int r = i / COLUMNS, c = i % COLUMNS, chunk = c % WIDTH / 8 ^ r / 4 % 2;
    out[(head * gridDim.x * TILE_ROWS + row) * COLUMNS + i] = __half2float(tile[c / WIDTH][r][chunk * 8 + c % 8]);
  }
}

cudaError_t drill(const half* in, float* out, const int*, cudaStream_t stream) {
  CUtensorMap map;
  if (const cudaError_t error = tile_map(map, in)) return error;
  load_tile<<<dim3(TILES, HEADS), 64, 0, stream>>>(map, out);
  return cudaGetLastError();
}
