// The kernels of the wgmma probe, for a GPU and, in the unit tests, for the CPU: one product of a case, dot products of
// the families, and boxes through the copy engine.
#pragma once
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cmath>
#include <cstring>
#include <iterator>
#include <utility>

#include "checks/probes/wgmma_cases.hpp"
#include "common/ptx/tma.cuh"
#include "common/ptx/wgmma.cuh"

namespace lab::wgmma_probe {

__device__ __forceinline__ unsigned two_halves(int low, int high) {
  const half2 pair = __floats2half2_rn(float(low), float(high));
  unsigned bits;
  memcpy(&bits, &pair, sizeof bits);
  return bits;
}

// One warpgroup. d[thread][i], i < N / 2; base: where the image lies.
template <int N, bool B_MN_MAJOR>
__global__ void __launch_bounds__(128) product(wgmma_cases::Case c, float* out, unsigned* base) {
  using namespace wgmma_cases;
  extern __shared__ __align__(1024) unsigned char shared[];
  half* const image = reinterpret_cast<half*>(shared);
  const int thread = int(threadIdx.x);
  for (int i = thread; i < IMAGE_HALVES; i += 128) image[i] = half(float(number(c.seed, IMAGE, i)));
  ptx::fence_proxy_async();
  __syncthreads();
  const unsigned start = ptx::shared_address(image);
  if (thread == 0) *base = start;
  float d[N / 2];
#pragma unroll
  for (int i = 0; i < N / 2; ++i) {
    const wgmma_layout::Place at = wgmma_layout::d(thread, i);
    d[i] = c.accumulate ? float(number(c.seed, ACCUMULATOR, at.row * N + at.column)) : NAN;
  }
  unsigned a[4];
#pragma unroll
  for (int r = 0; r < 4; ++r) {
    const wgmma_layout::Place at = wgmma_layout::a(thread, 2 * r);
    const int place = at.row * wgmma_layout::K + at.column;
    a[r] = two_halves(number(c.seed, A_REGISTERS, place), number(c.seed, A_REGISTERS, place + 1));
  }
  ptx::fence_registers(d);
  const auto run = [&](const auto& of_a) {
    ptx::wgmma_fence();
    ptx::wgmma<N, B_MN_MAJOR>(d, of_a, based(c.b, start), c.accumulate);
    ptx::wgmma_commit();
    ptx::wgmma_wait<0>();
  };
  if (c.a_registers)
    run(a);
  else
    run(based(c.a, start));
  ptx::fence_registers(d);
#pragma unroll
  for (int i = 0; i < N / 2; ++i) out[thread * (N / 2) + i] = d[i];
}

// The kernel above for an N, one of WIDTHS.
using ProductKernel = void (*)(wgmma_cases::Case, float*, unsigned*);
template <bool B_MN_MAJOR>
ProductKernel product_kernel(int n) {
  ProductKernel found = nullptr;
  const auto look = [&]<std::size_t... I>(std::index_sequence<I...>) {
    ((n == wgmma_cases::WIDTHS[I] ? void(found = product<wgmma_cases::WIDTHS[I], B_MN_MAJOR>) : void()), ...);
  };
  look(std::make_index_sequence<std::size(wgmma_cases::WIDTHS)>());
  return found;
}
inline ProductKernel product_kernel(const wgmma_cases::Case& c) {
  return c.b_mn_major ? product_kernel<true>(c.n) : product_kernel<false>(c.n);
}

// 64 x 32 dot products of 16: a[row][k], b[k][column], c[row][column] as bits.
struct Dots {
  std::uint16_t a[64][16], b[16][32];
  float c[64][32];
};
template <bool A_REGISTERS>
__global__ void __launch_bounds__(128) dots(const Dots* problems, float (*results)[64][32]) {
  const Dots& p = problems[blockIdx.x];
  extern __shared__ __align__(1024) unsigned char shared[];
  auto* const a = reinterpret_cast<std::uint16_t*>(shared);
  auto* const b = a + 64 * 16;
  const int thread = int(threadIdx.x);
  // Rows of 32 bytes without gaps, 32-byte swizzle: 16-byte halves of rows 4..7 of each 8 change places.
  for (int i = thread; i < 64 * 16; i += 128) {
    const int row = i / 16, k = i % 16;
    a[row * 16 + (k ^ (row / 4 % 2 * 8))] = p.a[row][k];
    if (row < 32) b[row * 16 + (k ^ (row / 4 % 2 * 8))] = p.b[k][row];
  }
  ptx::fence_proxy_async();
  __syncthreads();
  float d[16];
#pragma unroll
  for (int i = 0; i < 16; ++i) {
    const wgmma_layout::Place at = wgmma_layout::d(thread, i);
    d[i] = p.c[at.row][at.column];
  }
  unsigned of_a[4];
#pragma unroll
  for (int r = 0; r < 4; ++r) {
    const wgmma_layout::Place at = wgmma_layout::a(thread, 2 * r);
    of_a[r] = p.a[at.row][at.column] | unsigned(p.a[at.row][at.column + 1]) << 16;
  }
  ptx::fence_registers(d);
  ptx::wgmma_fence();
  const ptx::Descriptor of_b = ptx::wgmma_descriptor(b, 0, 256, Swizzle::b32);
  if constexpr (A_REGISTERS)
    ptx::wgmma<32>(d, of_a, of_b, true);
  else
    ptx::wgmma<32>(d, ptx::wgmma_descriptor(a, 0, 256, Swizzle::b32), of_b, true);
  ptx::wgmma_commit();
  ptx::wgmma_wait<0>();
  ptx::fence_registers(d);
#pragma unroll
  for (int i = 0; i < 16; ++i) {
    const wgmma_layout::Place at = wgmma_layout::d(thread, i);
    results[blockIdx.x][at.row][at.column] = d[i];
  }
}

// --- the copy engine -------------------------------------------------------------------------------------

struct BoxAt {
  int rank, at[4];
  unsigned bytes;
};
constexpr int BOX_IMAGE = 64 * 1024;  // bytes of shared memory that are looked at
constexpr unsigned BOX_POISON = 0xA5;
constexpr int ANNOUNCED_IMAGE = 16 * 1024;  // room for the boxes of box_cases::announced_cases()

// Loads a box into shared memory full of BOX_POISON, and hands all of that back. came: 1, or 0 if the bytes did not.
__global__ void __launch_bounds__(128)
    load_box(const __grid_constant__ CUtensorMap map, BoxAt box, unsigned char* out, unsigned* base, unsigned* came) {
  extern __shared__ __align__(1024) unsigned char image[];
  auto& barrier = *reinterpret_cast<ptx::MBarrier*>(image + BOX_IMAGE);
  const int thread = int(threadIdx.x);
  for (int i = thread; i < BOX_IMAGE; i += 128) image[i] = BOX_POISON;
  if (thread == 0) {
    ptx::mbarrier_init(barrier, 1);
    ptx::fence_mbarrier_init();
    *base = ptx::shared_address(image);
  }
  ptx::fence_proxy_async();
  __syncthreads();
  if (thread == 0) {
    ptx::mbarrier_arrive_expect_tx(barrier, box.bytes);
    const int* at = box.at;
    if (box.rank == 2) ptx::tma_load_2d(image, map, at[0], at[1], barrier);
    if (box.rank == 3) ptx::tma_load_3d(image, map, at[0], at[1], at[2], barrier);
    if (box.rank == 4) ptx::tma_load_4d(image, map, at[0], at[1], at[2], at[3], barrier);
  }
  // Not for ever: bytes that never come are a finding, not a hang.
  bool complete = false;
  for (int patience = 0; patience < 5000 && !complete; ++patience) complete = ptx::mbarrier_try_wait(barrier, 0);
  if (thread == 0) *came = complete;
  __syncthreads();
  for (int i = thread; i < BOX_IMAGE; i += 128) out[i] = image[i];
}

// Block i announces box_cases::ANNOUNCED_STEP * (i + 1) bytes and loads the box. ended[i]: whether the phase does.
__global__ void __launch_bounds__(32)
    announce(const __grid_constant__ CUtensorMap map, unsigned step, unsigned* ended) {
  extern __shared__ __align__(1024) unsigned char image[];
  auto& barrier = *reinterpret_cast<ptx::MBarrier*>(image + ANNOUNCED_IMAGE);
  if (threadIdx.x != 0) return;
  ptx::mbarrier_init(barrier, 1);
  ptx::fence_mbarrier_init();
  ptx::mbarrier_arrive_expect_tx(barrier, step * (blockIdx.x + 1));
  ptx::tma_load_2d(image, map, 0, 0, barrier);
  bool complete = false;
#ifdef LAB_EMULATED
  for (int patience = 0; patience < 4 && !complete; ++patience)
#else  // the copy takes some 2000 clocks
  for (const long long begin = clock64(); !complete && clock64() - begin < 200000;)
#endif
    complete = ptx::mbarrier_try_wait(barrier, 0);
  ended[blockIdx.x] = complete;
}

// Stores the box whose bytes are i % 251, in the order in which they lie in shared memory.
__global__ void __launch_bounds__(128) store_box(const __grid_constant__ CUtensorMap map, BoxAt box, unsigned* base) {
  extern __shared__ __align__(1024) unsigned char image[];
  const int thread = int(threadIdx.x);
  for (int i = thread; i < BOX_IMAGE; i += 128) image[i] = (unsigned char)(i % 251);
  ptx::fence_proxy_async();
  __syncthreads();
  if (thread != 0) return;
  *base = ptx::shared_address(image);
  if (box.rank == 2) ptx::tma_store_2d(map, image, box.at[0], box.at[1]);
  if (box.rank == 3) ptx::tma_store_3d(map, image, box.at[0], box.at[1], box.at[2]);
  ptx::bulk_commit();
  ptx::bulk_wait<0>();
}

}  // namespace lab::wgmma_probe
