// D = A B by wgmma: one warpgroup, four instructions of k = 16. `in` holds A, 64 rows of 64 halves, and behind it B as
// K of Q K^T lies: row n is column n of B. `out` is D, 64 rows of 64 floats.
#include "checks/exercises/drills/drill.cuh"
#include "common/ptx/tma.cuh"
#include "common/ptx/wgmma.cuh"

using namespace lab;

__global__ void multiply(const half* in, float* out) {
  __shared__ alignas(1024) half A[64][64];
  __shared__ alignas(1024) half B[64][64];
  for (int i = threadIdx.x; i < 64 * 64; i += 128) {  // swizzled, as the copy engine would leave them
    const int r = i / 64, c = (i / 8 ^ r) % 8 * 8 + i % 8;
    A[r][c] = in[i], B[r][c] = in[64 * 64 + i];
  }
#ifdef SOLUTION
  ptx::fence_proxy_async();
#else
  // yours: what must come before the barrier, so that the tensor cores see these stores?
#endif
  __syncthreads();
  const ptx::Descriptor a = ptx::descriptor(A), b = ptx::descriptor(B);
  float d[32];
  ptx::wgmma_fence();
  const int warp = threadIdx.x / 32, g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
#ifdef SOLUTION
  for (int k = 0; k < 4; ++k) ptx::wgmma<64>(d, ptx::advance(a, 32 * k), ptx::advance(b, 32 * k), k > 0);
  ptx::wgmma_commit();
  ptx::wgmma_wait<0>();
  ptx::fence_registers(d);
  for (int i = 0; i < 32; ++i) out[(16 * warp + g + i / 2 % 2 * 8) * 64 + i / 4 * 8 + 2 * t + i % 2] = d[i];
#else
  for (int k = 0; k < 4; ++k) ptx::wgmma<64>(d, a, b, true);  // yours: where product k begins, and what it adds to
  // yours: when may d be read?
  for (int i = 0; i < 32; ++i) out[32 * threadIdx.x + i] = d[i];  // yours: where d[i] belongs
#endif
}

cudaError_t drill(const half* in, float* out, const int*, cudaStream_t stream) {
  multiply<<<1, 128, 0, stream>>>(in, out);
  return cudaGetLastError();
}
