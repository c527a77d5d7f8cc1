// Two products at a time: O = sum over tiles of f(Q K_t^T) V_t, by one warpgroup. f is 1 where its argument is positive,
// and else 0. `in` holds Q, 64 rows of 64 halves, then K and V of each tile, 64 x 64 each: row n of K_t is column n of
// K_t^T, and row n of V_t is the n-th k of f(...) V_t. `out` is O, [64][64].
#include "checks/exercises/drills/drill.cuh"
#include "common/ptx/tma.cuh"
#include "common/ptx/wgmma.cuh"
#include "common/tile.cuh"
#include "common/wgmma_layout.hpp"

using namespace lab;

constexpr int MOST_TILES = 4;

struct Smem {  // swizzled by 128 bytes
  alignas(1024) half q[64][64];
  alignas(1024) half k[MOST_TILES][64][64];
  alignas(1024) half v[MOST_TILES][64][64];
};

// f of every element, in place; s[32] in the accumulator's layout of a 64 x 64 product.
__device__ void apply(float (&s)[32]) {
  for (int i = 0; i < 32; ++i) s[i] = s[i] > 0 ? 1.0f : 0.0f;
}
// The same elements as the A operands of four products, 16 columns of s each.
__device__ void pack(const float (&s)[32], unsigned (&p)[4][4]) {
  for (int i = 0; i < 16; ++i) p[i / 4][i % 4] = half_pair(s[2 * i], s[2 * i + 1]);
}

__global__ void chain(const half* in, int tiles, float* out) {
  extern __shared__ __align__(1024) unsigned char shared[];
  Smem& smem = *reinterpret_cast<Smem*>(shared);
  for (int i = threadIdx.x; i < 64 * 64; i += 128) {
    const int r = i / 64, c = (i / 8 ^ r) % 8 * 8 + i % 8;
    smem.q[r][c] = in[i];
    for (int t = 0; t < tiles; ++t)
      smem.k[t][r][c] = in[(1 + 2 * t) * 64 * 64 + i], smem.v[t][r][c] = in[(2 + 2 * t) * 64 * 64 + i];
  }
  ptx::fence_proxy_async();
  __syncthreads();
  float s[32], o[32] = {};
  unsigned p[4][4];
#ifdef SOLUTION
  const auto begin_qk = [&](int t) {
    ptx::wgmma_fence();
    for (int i = 0; i < 4; ++i)
      ptx::wgmma<64>(s, ptx::descriptor(&smem.q[0][16 * i]), ptx::descriptor(&smem.k[t][0][16 * i]), i > 0);
    ptx::wgmma_commit();
  };
  const auto begin_pv = [&](int t) {
    ptx::wgmma_fence();
    for (int i = 0; i < 4; ++i) ptx::wgmma<64, ptx::MN_MAJOR>(o, p[i], ptx::descriptor(smem.v[t][16 * i]), true);
    ptx::wgmma_commit();
  };
  begin_qk(0);
  ptx::wgmma_wait<0>();
  ptx::fence_registers(s);
  apply(s);
  pack(s, p);
  for (int t = 1; t < tiles; ++t) {
    begin_qk(t);
    begin_pv(t - 1);
    ptx::wgmma_wait<1>();
    ptx::fence_registers(s);
    apply(s);
    ptx::wgmma_wait<0>();
    ptx::fence_registers(o), ptx::fence_registers(p);
    pack(s, p);
  }
  begin_pv(tiles - 1);
  ptx::wgmma_wait<0>();
  ptx::fence_registers(o), ptx::fence_registers(p);
#else
  // yours: the products, and what is between them
#endif
  for (int i = 0; i < 32; ++i) {
    const auto [row, column] = wgmma_layout::d(threadIdx.x, i);
    out[row * 64 + column] = o[i];
  }
}

cudaError_t drill(const half* in, float* out, const int* size, cudaStream_t stream) {
  if (const cudaError_t error = cudaFuncSetAttribute(chain, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(Smem)))
    return error;
  chain<<<1, 128, sizeof(Smem), stream>>>(in, size[0], out);
  return cudaGetLastError();
}
