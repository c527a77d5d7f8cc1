// C = A B on the tensor cores: one warp, one mma.sync. `in` holds A, 16 rows of 16 halves, and behind it B, 16 rows of
// 8; `out` is C, 16 rows of 8 floats.
#include "checks/exercises/drills/drill.cuh"
#include "common/ptx/mma.cuh"
#include "common/tile.cuh"

using namespace lab;

__global__ void multiply(const half* in, float* out) {
  const int g = threadIdx.x / 4, t = threadIdx.x % 4;
  const half *A = in, *B = in + 16 * 16;
  unsigned a[4], b[2];
  float c[4] = {};
  for (int i = 0; i < 4; ++i) {
#ifdef SOLUTION
    const int row = g + i % 2 * 8, k = 2 * t + i / 2 * 8;
    a[i] = half_pair(A[row * 16 + k], A[row * 16 + k + 1]);
  }
  for (int i = 0; i < 2; ++i) b[i] = half_pair(B[(2 * t + 8 * i) * 8 + g], B[(2 * t + 8 * i + 1) * 8 + g]);
  ptx::mma_m16n8k16(c, a, b);
  for (int i = 0; i < 4; ++i) out[(g + i / 2 * 8) * 8 + 2 * t + i % 2] = c[i];
#else
    const int row = g, k = 2 * t;  // yours: which row and which first column of A register i has
    a[i] = half_pair(A[row * 16 + k], A[row * 16 + k + 1]);
  }
  for (int i = 0; i < 2; ++i) b[i] = 0;  // yours: the halves of B that register i has
  ptx::mma_m16n8k16(c, a, b);
  for (int i = 0; i < 4; ++i) out[4 * threadIdx.x + i] = c[i];  // yours: where in C it belongs
#endif
}

cudaError_t drill(const half* in, float* out, const int*, cudaStream_t stream) {
  multiply<<<1, 32, 0, stream>>>(in, out);
  return cudaGetLastError();
}
