// Descriptors of an MN-major operand: D = A B by wgmma, one warpgroup, A from registers. `in` holds A, 64 rows of 48
// halves, and behind it B, 48 rows of N: a row of B is one k, as a row of V is one key. B lies in shared memory in one of
// three layouts:
//
//   swizzle 128, 64   slabs of `swizzle` bytes of each row, one after the other, swizzled
//   swizzle 0         [48 / 8][N / 8][8][8]: core matrices of 8 rows and 8 columns; not swizzled
#include "checks/exercises/drills/drill.cuh"
#include "common/ptx/tma.cuh"
#include "common/ptx/wgmma.cuh"
#include "common/tile.cuh"
#include "common/wgmma_layout.hpp"

using namespace lab;

constexpr int M = 64, K = 48;

// Of a slab's row; 0 without a swizzle.
__device__ int row_bytes(Swizzle swizzle) { return swizzle == Swizzle::none ? 0 : 16 << int(swizzle); }

// Of rows k .. k + 15 and all N columns of B, which begins at `tile`; k is a multiple of 16.
__device__ ptx::Descriptor mn_major(const half* tile, int N, Swizzle swizzle, int k) {
#ifdef SOLUTION
  using ptx::advance, ptx::wgmma_descriptor;
  if (swizzle == Swizzle::none) return advance(wgmma_descriptor(tile, N * 16, 128, swizzle), k / 8 * N * 16);
  const int row = row_bytes(swizzle);
  return advance(wgmma_descriptor(tile, K * row, 8 * row, swizzle), k * row);
#else
  return 0;  // yours: ptx::wgmma_descriptor() packs the fields
#endif
}

// Where element (k, column) of B lies, counted in halves.
__device__ int place_of(int k, int column, int N, Swizzle swizzle) {
  if (swizzle == Swizzle::none) return (k / 8 * N / 8 + column / 8) * 64 + k % 8 * 8 + column % 8;
  const int bytes = row_bytes(swizzle), width = bytes / 2;
  const int chunk = column % width / 8 ^ k * bytes / 128 % (bytes / 16);
  return (column / width * K + k) * width + chunk * 8 + column % 8;
}

// out: D, [64][N].
template <int N>
__global__ void multiply(const half* in, Swizzle swizzle, float* out) {
  __shared__ alignas(1024) half B[K * N];
  for (int i = threadIdx.x; i < K * N; i += 128) B[place_of(i / N, i % N, N, swizzle)] = in[M * K + i];
  unsigned a[K / 16][4];
  for (int k = 0; k < K; k += 16)
    for (int i = 0; i < 4; ++i) {
      const auto [row, column] = wgmma_layout::a(threadIdx.x, 2 * i);
      a[k / 16][i] = half_pair_at(&in[row * K + k + column]);
    }
  ptx::fence_proxy_async();
  __syncthreads();
  float d[N / 2];
  ptx::wgmma_fence();
  for (int k = 0; k < K; k += 16) ptx::wgmma<N, ptx::MN_MAJOR>(d, a[k / 16], mn_major(B, N, swizzle, k), k > 0);
  ptx::wgmma_commit();
  ptx::wgmma_wait<0>();
  ptx::fence_registers(d), ptx::fence_registers(a);
  for (int i = 0; i < N / 2; ++i) {
    const auto [row, column] = wgmma_layout::d(threadIdx.x, i);
    out[row * N + column] = d[i];
  }
}

cudaError_t drill(const half* in, float* out, const int* size, cudaStream_t stream) {
  const auto swizzle = Swizzle(size[1]);
  if (size[0] == 64)
    multiply<64><<<1, 128, 0, stream>>>(in, swizzle, out);
  else
    multiply<128><<<1, 128, 0, stream>>>(in, swizzle, out);
  return cudaGetLastError();
}
