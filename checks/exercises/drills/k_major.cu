// Descriptors of K-major operands: D = A B^T by wgmma, one warpgroup. `in` holds A, 64 rows of 64 halves, and behind it
// B, 32 rows of 64. k runs along the rows of both. Each lies in shared memory in one of three layouts:
//
//   swizzle 128, 64   slabs of `swizzle` bytes of each row, one after the other, swizzled
//   swizzle 0         [64 / 8][rows][8]: eight k of all rows, then the next eight; not swizzled
#include "checks/exercises/drills/drill.cuh"
#include "common/ptx/tma.cuh"
#include "common/ptx/wgmma.cuh"
#include "common/wgmma_layout.hpp"

using namespace lab;

constexpr int M = 64, N = 32, K = 64;

// A matrix descriptor, bit for bit: `address`, `leading` and `stride` in bytes, swizzle 128, 64, 32 or 0.
__device__ std::uint64_t descriptor(unsigned address, unsigned leading, unsigned stride, int swizzle) {
#ifdef SOLUTION
  const std::uint64_t code = swizzle == 128 ? 1 : swizzle == 64 ? 2 : swizzle == 32 ? 3 : 0;
  return (address & 0x3FFFF) >> 4 | std::uint64_t(leading >> 4) << 16 | std::uint64_t(stride >> 4) << 32 | code << 62;
#else
  return 0;  // yours
#endif
}

// Of columns k .. k + 15 of a tile of `rows` rows that begins at address `tile`; k is a multiple of 16.
__device__ std::uint64_t k_major(unsigned tile, int rows, int swizzle, int k) {
#ifdef SOLUTION
  if (swizzle == 0) return descriptor(tile + k / 8 * rows * 16, rows * 16, 128, 0);
  const int width = swizzle / 2;
  return descriptor(tile + k / width * rows * swizzle + k % width * 2, 0, 8 * swizzle, swizzle);
#else
  return 0;  // yours
#endif
}

// Where element (row, k) of such a tile lies, counted in halves.
__device__ int place_of(int row, int k, int rows, int swizzle) {
  if (swizzle == 0) return (k / 8 * rows + row) * 8 + k % 8;
  const int width = swizzle / 2, chunk = k % width / 8 ^ row * swizzle / 128 % (swizzle / 16);
  return (k / width * rows + row) * width + chunk * 8 + k % 8;
}

// out: D, [64][32]; behind it four descriptors of no matrix, in 16-bit pieces, the lowest first.
__global__ void multiply(const half* in, int swizzle, float* out) {
  __shared__ alignas(1024) half A[M * K];
  __shared__ alignas(1024) half B[N * K];
  for (int i = threadIdx.x; i < M * K; i += 128) A[place_of(i / K, i % K, M, swizzle)] = in[i];
  for (int i = threadIdx.x; i < N * K; i += 128) B[place_of(i / K, i % K, N, swizzle)] = in[M * K + i];
  ptx::fence_proxy_async();
  __syncthreads();
  float d[N / 2];
  ptx::wgmma_fence();
  for (int k = 0; k < K; k += 16)
    ptx::wgmma<N>(d, k_major(ptx::shared_address(A), M, swizzle, k), k_major(ptx::shared_address(B), N, swizzle, k),
                  k > 0);
  ptx::wgmma_commit();
  ptx::wgmma_wait<0>();
  ptx::fence_registers(d);
  for (int i = 0; i < N / 2; ++i) {
    const auto [row, column] = wgmma_layout::d(threadIdx.x, i);
    out[row * N + column] = d[i];
  }
  if (threadIdx.x < 4) {
    const int swizzles[] = {0, 32, 64, 128};
    const unsigned address = 0x7C400 + 0x10 * threadIdx.x;  // wider than the field
    const std::uint64_t bits = descriptor(address, 2048, 1024 + 256 * threadIdx.x, swizzles[threadIdx.x]);
    for (int i = 0; i < 4; ++i) out[M * N + threadIdx.x * 4 + i] = float(bits >> 16 * i & 0xFFFF);
  }
}

cudaError_t drill(const half* in, float* out, const int* size, cudaStream_t stream) {
  multiply<<<1, 128, 0, stream>>>(in, size[0], out);
  return cudaGetLastError();
}
