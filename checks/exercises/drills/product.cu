// C = X Y on the tensor cores: one warp, one mma.sync. `in` holds X, 8 rows of 16 halves, and behind it Y, 16 rows of 16;
// `out` is C, 8 rows of 16 floats. The instruction multiplies a 16 x 16 matrix by a 16 x 8 one.
#include "checks/exercises/drills/drill.cuh"
#include "common/ptx/mma.cuh"
#include "common/tile.cuh"

using namespace lab;

__global__ void multiply(const half* in, float* out) {
  const int g = threadIdx.x / 4, t = threadIdx.x % 4;
  const half *X = in, *Y = in + 8 * 16;
  unsigned a[4], b[2];
  float c[4] = {};
#ifdef SOLUTION
  for (int i = 0; i < 4; ++i) {
    const int column = g + i % 2 * 8, k = 2 * t + i / 2 * 8;
    a[i] = half_pair(Y[k * 16 + column], Y[(k + 1) * 16 + column]);
  }
  for (int i = 0; i < 2; ++i) b[i] = half_pair(X[g * 16 + 2 * t + 8 * i], X[g * 16 + 2 * t + 8 * i + 1]);
  ptx::mma_m16n8k16(c, a, b);
  for (int i = 0; i < 4; ++i) out[(2 * t + i % 2) * 16 + g + i / 2 * 8] = c[i];
#else
  for (int i = 0; i < 4; ++i) a[i] = half_pair(X[0], X[1]);  // yours: the two halves that register i of A holds
  for (int i = 0; i < 2; ++i) b[i] = half_pair(Y[0], Y[1]);  // yours: and register i of B
  ptx::mma_m16n8k16(c, a, b);
  for (int i = 0; i < 4; ++i) out[4 * threadIdx.x + i] = c[i];  // yours: where in C c[i] belongs
#endif
}

cudaError_t drill(const half* in, float* out, const int*, cudaStream_t stream) {
  multiply<<<1, 32, 0, stream>>>(in, out);
  return cudaGetLastError();
}
