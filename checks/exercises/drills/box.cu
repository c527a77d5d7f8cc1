// One copy of the copy engine: the 8 x 64 box at row 16 of a tensor of 22 rows, 64 columns each, swizzled by 128 bytes.
// out[r * 64 + c] is element (r, c) of the box; what lies below the tensor is 0.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "common/ptx/tma.cuh"
#include "common/smem_plan.cuh"

constexpr int ROWS = 8, COLUMNS = 64, TENSOR_ROWS = 22, FIRST_ROW = 16;

lab::TensorShape drill_tensor() {  // for the host, which makes the map of it
  lab::TensorShape t;
  t.rank = 2;
  t.extent[0] = COLUMNS, t.stride[0] = sizeof(half), t.box[0] = COLUMNS;
  t.extent[1] = TENSOR_ROWS, t.stride[1] = COLUMNS * sizeof(half), t.box[1] = ROWS;
  return t;
}

__global__ void drill(const __grid_constant__ lab::TensorMap map, float* out) {
  lab::AlignedSmemCursor cursor;
  half* box = cursor.array<half, lab::SWIZZLE_ALIGN>("box", ROWS, COLUMNS);
  auto* full = cursor.array<lab::ptx::MBarrier>("full", 1, 1);
  if (threadIdx.x == 0) {
    lab::ptx::mbarrier_init(full, 1);
    lab::ptx::fence_mbarrier_init();
#ifdef SOLUTION
    lab::ptx::mbarrier_arrive_expect_tx(full, ROWS * COLUMNS * sizeof(half));
    lab::ptx::tma_load_2d(box, &map, 0, FIRST_ROW, full);
  }
  __syncwarp();
  lab::ptx::mbarrier_wait(full, 0);
  for (int r = 0; r < ROWS; ++r)
    for (int c = threadIdx.x; c < COLUMNS; c += 32)
      out[r * COLUMNS + c] = __half2float(box[r * COLUMNS + (c / 8 ^ r % 8) * 8 + c % 8]);
#else
    lab::ptx::mbarrier_arrive_expect_tx(full, 1);  // yours: how many bytes will come?
    lab::ptx::tma_load_2d(box, &map, 0, 0, full);  // yours: where does the box begin?
  }
  __syncwarp();
  // yours: when may the box be read?
  for (int r = 0; r < ROWS; ++r)
    for (int c = threadIdx.x; c < COLUMNS; c += 32)
      out[r * COLUMNS + c] = __half2float(box[r * COLUMNS + c]);  // yours: where does (r, c) lie?
#endif
}
