// A tensor map: two heads of 20 rows and 64 columns, one behind the other, in boxes of 8 rows of one head. The kernel
// loads the box at row 16 of each head. Rows below the head's last one must be 0, and not the next head.
#include "checks/exercises/drills/drill.cuh"
#include "common/ptx/tma.cuh"

using namespace lab;

constexpr int HEADS = 2, HEAD_ROWS = 20, ROWS = 8, COLUMNS = 64, FIRST_ROW = 16;

// Dimension 0 is the innermost. `stride` has one entry fewer: neighbours in dimension 0 are neighbours in memory.
cudaError_t make_map(CUtensorMap& map, const half* tensor) {
#ifdef SOLUTION
  const cuuint64_t size[] = {COLUMNS, HEAD_ROWS, HEADS};               // elements
  const cuuint64_t stride[] = {COLUMNS * 2, HEAD_ROWS * COLUMNS * 2};  // bytes, from dimension 1 on
  const cuuint32_t box[] = {COLUMNS, ROWS, 1};                         // elements
#else
  const cuuint64_t size[] = {COLUMNS, HEADS * HEAD_ROWS, 1};  // elements: two are yours
  const cuuint64_t stride[] = {COLUMNS * 2, COLUMNS * 2};     // bytes, from dimension 1 on: two are yours
  const cuuint32_t box[] = {COLUMNS, 1, 1};                   // elements: two are yours
#endif
  const cuuint32_t step[] = {1, 1, 1};  // every element
  return encode_tiled(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 3, const_cast<half*>(tensor), size, stride, box, step,
                      CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                      CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

__global__ void load_boxes(const __grid_constant__ CUtensorMap map, float* out) {
  __shared__ alignas(1024) half boxes[HEADS][ROWS][COLUMNS];
  __shared__ ptx::MBarrier full;
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(full, 1);
    ptx::fence_mbarrier_init();
    ptx::mbarrier_arrive_expect_tx(full, sizeof boxes);
    for (int head = 0; head < HEADS; ++head) ptx::tma_load_3d(boxes[head], map, 0, FIRST_ROW, head, full);
  }
  __syncwarp();
  ptx::mbarrier_wait(full, 0);
  for (int r = 0; r < HEADS * ROWS; ++r)
    for (int c = threadIdx.x; c < COLUMNS; c += 32)
      out[r * COLUMNS + c] = __half2float(boxes[r / ROWS][r % ROWS][(c / 8 ^ r % 8) * 8 + c % 8]);
}

cudaError_t drill(const half* in, float* out, const int*, cudaStream_t stream) {
  CUtensorMap map;
  if (const cudaError_t error = make_map(map, in)) return error;
  load_boxes<<<1, 32, 0, stream>>>(map, out);
  return cudaGetLastError();
}
