// One ldmatrix.x4: `in` is a 16 x 16 tile of halves. Lane l is to get the elements of A that mma.m16n8k16 wants of it, in
// the order of the registers a[0] to a[3] (common/ptx/mma.cuh), low half first. It writes them to out[8 l] .. out[8 l + 7].
#include "checks/exercises/drills/drill.cuh"
#include "common/ptx/ldmatrix.cuh"
#include "common/tile.cuh"

using namespace lab;

__global__ void load_a(const half* in, float* out) {
  const unsigned lane = threadIdx.x;
  __shared__ alignas(16) half tile[16 * 16];
  for (unsigned i = lane; i < 16 * 16; i += 32) tile[i] = in[i];
  __syncwarp();
  unsigned a[4];
#ifdef SOLUTION
  ptx::ldmatrix_x4(a, tile + lane % 16 * 16 + lane / 16 * 8);
#else
  ptx::ldmatrix_x4(a, tile);  // yours: the address that this lane gives
#endif
  for (int i = 0; i < 4; ++i) out[8 * lane + 2 * i] = floats(a[i]).x, out[8 * lane + 2 * i + 1] = floats(a[i]).y;
}

cudaError_t drill(const half* in, float* out, const int*, cudaStream_t stream) {
  load_a<<<1, 32, 0, stream>>>(in, out);
  return cudaGetLastError();
}
