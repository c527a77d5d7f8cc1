// A tensor map, and a tile by one copy. The tensor is x[row][head][column]: ROWS rows, HEADS heads, COLUMNS columns of
// halves. A block takes the tile of TILE_ROWS rows from TILE_ROWS * blockIdx.x on, of head blockIdx.y; below the last
// row it has zeros. In shared memory the tile is [COLUMNS / 16][TILE_ROWS][16], swizzled by 32 bytes.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "common/ptx/tma.cuh"
#include "common/smem_plan.cuh"

constexpr int ROWS = 21, HEADS = 3, COLUMNS = 80, TILE_ROWS = 16, WIDTH = 16;
constexpr int TILE = TILE_ROWS * COLUMNS;

// The host makes the map of this: the tensor as the copy engine is to see it, and the box of one copy.
lab::TensorShape tile_tensor() {
  lab::TensorShape t;
#ifdef SOLUTION
  t.rank = 4;
  t.extent[0] = WIDTH, t.stride[0] = sizeof(half), t.box[0] = WIDTH;
  t.extent[1] = ROWS, t.stride[1] = HEADS * COLUMNS * sizeof(half), t.box[1] = TILE_ROWS;
  t.extent[2] = COLUMNS / WIDTH, t.stride[2] = WIDTH * sizeof(half), t.box[2] = COLUMNS / WIDTH;
  t.extent[3] = HEADS, t.stride[3] = COLUMNS * sizeof(half), t.box[3] = 1;
  t.swizzle = lab::Swizzle::b32;
#else
  // yours
#endif
  return t;
}

// By one thread: asks for the tile of `head` from row `row` on. `full` counts one arrival and the tile's bytes.
__device__ void request(half* tile, const lab::TensorMap& map, int row, int head, lab::ptx::MBarrier* full) {
#ifdef SOLUTION
  lab::ptx::mbarrier_arrive_expect_tx(full, TILE * sizeof(half));
  lab::ptx::tma_load_4d(tile, &map, 0, row, 0, head, full);
#else
  (void)tile, (void)map, (void)row, (void)head, (void)full;  // yours
#endif
}

// out[head][row][column], of as many rows as the tiles have.
__global__ void mechanism(const __grid_constant__ lab::TensorMap map, float* out) {
  lab::AlignedSmemCursor cursor;
  half* tile = cursor.array<half, lab::SWIZZLE_ALIGN>("tile", TILE / WIDTH, WIDTH);
  auto* full = cursor.array<lab::ptx::MBarrier>("full", 1, 1);
  const int row = blockIdx.x * TILE_ROWS, head = blockIdx.y;
  if (threadIdx.x == 0) {
    lab::ptx::mbarrier_init(full, 1);
    lab::ptx::fence_mbarrier_init();
    request(tile, map, row, head, full);
  }
  __syncthreads();
  lab::ptx::mbarrier_wait(full, 0);
  for (int i = threadIdx.x; i < TILE; i += blockDim.x) {
    const int r = i / COLUMNS, c = i % COLUMNS, chunk = c % WIDTH / 8 ^ r / 4 % 2;
    out[(head * gridDim.x * TILE_ROWS + row) * COLUMNS + i] =
        __half2float(tile[(c / WIDTH * TILE_ROWS + r) * WIDTH + chunk * 8 + c % 8]);
  }
}
