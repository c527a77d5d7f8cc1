// One ldmatrix.x4: `in` is a 16 x 16 tile of halves. Lane l is to have, in this order, the elements of A that
// mma.m16n8k16 wants of it: registers a[0] to a[3] (common/ptx/mma.cuh), the low half first. It writes them to out[8 l]
// .. out[8 l + 7].
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "common/ptx/mma.cuh"
#include "common/smem_plan.cuh"

__global__ void drill(const half* in, float* out) {
  const unsigned lane = threadIdx.x;
  lab::SmemCursor cursor;
  half* tile = cursor.array<half>("tile", 16, 16);
  for (unsigned i = lane; i < 16 * 16; i += 32) tile[i] = in[i];
  __syncwarp();
  unsigned r[4];
#ifdef SOLUTION
  lab::ptx::ldmatrix_x4(r, tile + lane % 16 * 16 + lane / 16 * 8);
#else
  lab::ptx::ldmatrix_x4(r, tile);  // yours: the address that this lane gives
#endif
  for (int i = 0; i < 4; ++i) {
    const half* both = reinterpret_cast<const half*>(&r[i]);
    out[8 * lane + 2 * i] = __half2float(both[0]), out[8 * lane + 2 * i + 1] = __half2float(both[1]);
  }
}
