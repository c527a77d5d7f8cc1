// D = A B by wgmma: one warpgroup, four instructions of k = 16. `in` holds A, 64 rows of 64 halves, and behind it B as
// K of Q K^T lies: row n has column n of B. `out` is D, 64 rows of 64 floats.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "common/ptx/tma.cuh"
#include "common/ptx/wgmma.cuh"
#include "common/smem_plan.cuh"

__global__ void drill(const half* in, float* out) {
  lab::AlignedSmemCursor cursor;
  half* A = cursor.array<half, lab::SWIZZLE_ALIGN>("A", 64, 64);
  half* B = cursor.array<half, lab::SWIZZLE_ALIGN>("B", 64, 64);
  for (int i = threadIdx.x; i < 64 * 64; i += 128) {  // swizzled, as the copy engine would leave them
    const int r = i / 64, c = i % 64, at = r * 64 + (c / 8 ^ r % 8) * 8 + c % 8;
    A[at] = in[i], B[at] = in[64 * 64 + i];
  }
#ifdef SOLUTION
  lab::ptx::fence_proxy_async();
#else
  // yours: what must come before the barrier, so that the tensor cores see these stores?
#endif
  __syncthreads();
  const lab::ptx::Descriptor a = lab::ptx::wgmma_descriptor(A, 0, 1024), b = lab::ptx::wgmma_descriptor(B, 0, 1024);
  float d[32];
  lab::ptx::wgmma_fence();
#ifdef SOLUTION
  for (int k = 0; k < 4; ++k) lab::ptx::wgmma<64>(d, lab::ptx::advance(a, 32 * k), lab::ptx::advance(b, 32 * k), k > 0);
  lab::ptx::wgmma_commit();
  lab::ptx::wgmma_wait<0>();
  const int warp = threadIdx.x / 32, g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
  for (int i = 0; i < 32; ++i) out[(16 * warp + g + i / 2 % 2 * 8) * 64 + i / 4 * 8 + 2 * t + i % 2] = d[i];
#else
  for (int k = 0; k < 4; ++k) lab::ptx::wgmma<64>(d, a, b, true);  // yours: where product k begins, and what it adds to
  // yours: when may d be read?
  const int warp = threadIdx.x / 32, g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
  for (int i = 0; i < 32; ++i) out[32 * threadIdx.x + i] = d[i];  // yours: where d[i] belongs
#endif
}
