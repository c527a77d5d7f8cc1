// An online softmax over a stream of tiles whose reference seldom moves. One warp per row; a tile is 32 keys, one per
// lane. `in` holds, for each row and tile, 32 scores and then 32 values; a hidden key has the score -infinity. Scores
// count in powers of two: out[row] is the sum of 2^score * value over all keys, divided by the sum of 2^score.
#include "checks/exercises/drills/drill.cuh"
#include "common/ptx/ex2.cuh"
#include "common/warp.cuh"

using namespace lab;

constexpr int ROWS = 4;
constexpr float MOST = 8.0f;  // powers of two that a score may be above the reference: 2^8 fits a half

// 2^(score - reference) as the tensor cores take it: rounded to a half, so infinite from 2^16 on.
__device__ float weight(float score, float reference) {
  return __half2float(__float2half(ptx::ex2(score - reference)));
}

__global__ void softmax(const half* in, int tiles, float* out) {
  const int row = threadIdx.x / 32, lane = threadIdx.x % 32;
  float reference = -INFINITY;  // l and o are relative to it
  float l = 0.0f, o = 0.0f;     // sums over the lane's own keys
  for (int t = 0; t < tiles; ++t) {
    const half* tile = in + (row * tiles + t) * 64;
    const float score = __half2float(tile[lane]), value = __half2float(tile[32 + lane]);
#ifdef SOLUTION
    if (__any_sync(FULL_WARP, score > reference + MOST)) {
      const float moved = fmaxf(reference, warp_max(score)), rescale = ptx::ex2(reference - moved);
      reference = moved, l *= rescale, o *= rescale;
    }
    const float p = weight(score, reference == -INFINITY ? 0.0f : reference);
#else
    // The plain way: the reference is the largest score so far, and moves with every tile. Yours is a better one.
    const float moved = fmaxf(reference, warp_max(score)), base = moved == -INFINITY ? 0.0f : moved;
    const float rescale = ptx::ex2(reference - base);
    reference = moved, l *= rescale, o *= rescale;
    const float p = weight(score, base);
#endif
    l += p, o += p * value;
  }
  l = warp_sum(l), o = warp_sum(o);
  if (lane == 0) out[row] = o / l;
}

cudaError_t drill(const half* in, float* out, const int* size, cudaStream_t stream) {
  softmax<<<1, 32 * ROWS, 0, stream>>>(in, size[0], out);
  return cudaGetLastError();
}
