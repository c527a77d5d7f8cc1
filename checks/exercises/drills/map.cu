// A tensor map: two heads of 20 rows, 64 columns each, one behind the other, and boxes of 8 rows of one head. Loaded is
// the box at row 16 of each head; what lies below the head's last row must be 0, and not the next head.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "common/ptx/tma.cuh"
#include "common/smem_plan.cuh"

constexpr int HEADS = 2, HEAD_ROWS = 20, ROWS = 8, COLUMNS = 64, FIRST_ROW = 16;

lab::TensorShape drill_tensor() {  // for the host, which makes the map of it; dimension 0 is the innermost
  lab::TensorShape t;
  t.rank = 3;
  t.extent[0] = COLUMNS, t.stride[0] = sizeof(half), t.box[0] = COLUMNS;
#ifdef SOLUTION
  t.extent[1] = HEAD_ROWS, t.stride[1] = COLUMNS * sizeof(half), t.box[1] = ROWS;
  t.extent[2] = HEADS, t.stride[2] = HEAD_ROWS * COLUMNS * sizeof(half), t.box[2] = 1;
#else
  t.extent[1] = HEADS * HEAD_ROWS, t.stride[1] = COLUMNS * sizeof(half), t.box[1] = 1;  // yours
  t.extent[2] = 1, t.stride[2] = COLUMNS * sizeof(half), t.box[2] = 1;                  // yours
#endif
  return t;
}

__global__ void drill(const __grid_constant__ lab::TensorMap map, float* out) {
  lab::AlignedSmemCursor cursor;
  half* boxes = cursor.array<half, lab::SWIZZLE_ALIGN>("boxes", HEADS * ROWS, COLUMNS);
  auto* full = cursor.array<lab::ptx::MBarrier>("full", 1, 1);
  if (threadIdx.x == 0) {
    lab::ptx::mbarrier_init(full, 1);
    lab::ptx::fence_mbarrier_init();
    lab::ptx::mbarrier_arrive_expect_tx(full, HEADS * ROWS * COLUMNS * sizeof(half));
    for (int head = 0; head < HEADS; ++head)
      lab::ptx::tma_load_3d(boxes + head * ROWS * COLUMNS, &map, 0, FIRST_ROW, head, full);
  }
  __syncwarp();
  lab::ptx::mbarrier_wait(full, 0);
  for (int r = 0; r < HEADS * ROWS; ++r)
    for (int c = threadIdx.x; c < COLUMNS; c += 32)
      out[r * COLUMNS + c] = __half2float(boxes[r * COLUMNS + (c / 8 ^ r % 8) * 8 + c % 8]);
}
