// A softmax over a stream of tiles whose reference seldom moves. One warp per row; a tile is 32 keys, one for each lane.
// `in` holds, for each row and tile, 32 scores and then 32 values; a hidden key has the score -infinity. Scores count in
// powers of two: out[row] is the sum of 2^score * value over all keys, divided by the sum of 2^score.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "common/ptx/ex2.cuh"
#include "common/warp.cuh"

constexpr float MOST = 8.0f;  // powers of two that a score may be above the reference: 2^8 fits a half

// 2^(score - reference) as the tensor cores take it: rounded to a half, so infinite from 2^16 on.
__device__ float weight(float score, float reference) {
  return __half2float(__float2half(lab::ptx::ex2(score - reference)));
}

__global__ void mechanism(const half* in, int tiles, float* out) {
  const int row = threadIdx.x / 32, lane = threadIdx.x % 32;
  float reference = -INFINITY;  // that l and o are relative to
  float l = 0.0f, o = 0.0f;     // the lane's own keys' sums
  for (int t = 0; t < tiles; ++t) {
    const half* tile = in + (row * tiles + t) * 64;
    const float score = __half2float(tile[lane]), value = __half2float(tile[32 + lane]);
#ifdef SOLUTION
    if (__any_sync(lab::FULL_WARP, score > reference + MOST)) {
      const float moved = fmaxf(reference, lab::warp_max(score)), rescale = lab::ptx::ex2(reference - moved);
      reference = moved, l *= rescale, o *= rescale;
    }
    const float p = weight(score, reference == -INFINITY ? 0.0f : reference);
#else
    // The plain way: the reference is the largest score so far, and moves with every tile. Yours is another.
    const float moved = fmaxf(reference, lab::warp_max(score)), base = moved == -INFINITY ? 0.0f : moved;
    const float rescale = lab::ptx::ex2(reference - base);
    reference = moved, l *= rescale, o *= rescale;
    const float p = weight(score, base);
#endif
    l += p, o += p * value;
  }
  l = lab::warp_sum(l), o = lab::warp_sum(o);
  if (lane == 0) out[row] = o / l;
}
