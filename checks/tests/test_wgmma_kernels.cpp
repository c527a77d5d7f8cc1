// Compiled with -fsanitize=thread, never linked with its runtime. A comment such as [product] marks the line that a
// report must name: the test finds it by the kernel's name and the mark.
#include "checks/tests/test_wgmma_kernels.hpp"

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstring>

#include "common/launch.cuh"
#include "common/ptx/tma.cuh"
#include "common/ptx/wgmma.cuh"
#include "common/smem_plan.cuh"

namespace lab::wgmma_kernels {

using namespace lab::ptx;

namespace {

// Two tiles of 64 rows of 64 halves, swizzled; what is in them does not matter here.
struct Tiles {
  half *a, *b;
  Descriptor of_a, of_b;
};
__device__ __forceinline__ Tiles tiles() {
  AlignedSmemCursor cursor;
  Tiles t{};
  t.a = cursor.array<half, SWIZZLE_ALIGN>("a", 64, 64);
  t.b = cursor.array<half, SWIZZLE_ALIGN>("b", 64, 64);
  for (unsigned i = threadIdx.x; i < 64 * 64; i += blockDim.x) t.a[i] = t.b[i] = half(float(i % 7));
  fence_proxy_async();
  __syncthreads();
  t.of_a = wgmma_descriptor(t.a, 0, 1024);
  t.of_b = wgmma_descriptor(t.b, 0, 1024);
  return t;
}

__device__ __forceinline__ int total(const float (&d)[32]) {
  float sum = 0.0f;
  for (const float x : d) sum += x;
  return int(sum);
}

__device__ __forceinline__ void pack(unsigned (&a)[4], const float* from) {
  for (int i = 0; i < 4; ++i) a[i] = unsigned(from[i]);
}

}  // namespace

// --- right ---------------------------------------------------------------------------------------------

__global__ void one_product(int* out) {
  const Tiles t = tiles();
  float d[32];
  wgmma_fence();
  for (int k = 0; k < 4; ++k) wgmma<64>(d, advance(t.of_a, 32 * k), advance(t.of_b, 32 * k), k > 0);
  wgmma_commit();
  wgmma_wait<0>();
  out[threadIdx.x] = total(d);
}

__global__ void two_groups_in_flight(int* out) {
  const Tiles t = tiles();
  float first[32], second[32];
  wgmma_fence();
  wgmma<64>(first, t.of_a, t.of_b, false);
  wgmma_commit();
  wgmma<64>(second, t.of_b, t.of_a, false);
  wgmma_commit();
  wgmma_wait<1>();
  int sum = total(first);
  wgmma_wait<0>();
  sum += total(second);
  out[threadIdx.x] = sum;
}

__global__ void accumulators_untouched(int* out) {
  const Tiles t = tiles();
  float d[32] = {};
  wgmma_fence();
  for (int i = 0; i < 3; ++i) {
    wgmma<64>(d, t.of_a, t.of_b, true);
    wgmma_commit();
    wgmma_wait<0>();
  }
  out[threadIdx.x] = total(d);
}

// S = Q K^T, then O += P V with P packed from S, twice: what a stage does.
__global__ void scores_become_operand(int* out) {
  const Tiles t = tiles();
  float s[32], o[32] = {};
  unsigned p[4][4];
  for (int j = 0; j < 2; ++j) {
    wgmma_fence();
    wgmma<64>(s, t.of_a, t.of_b, false);
    wgmma_commit();
    wgmma_wait<0>();
    for (float& x : s) x *= 0.5f;
    for (int k = 0; k < 4; ++k) pack(p[k], s + 8 * k);
    for (float& x : o) x *= 0.25f;
    wgmma_fence();
    for (int k = 0; k < 4; ++k) wgmma<64, true>(o, p[k], advance(t.of_b, 2048 * k), true);
    wgmma_commit();
    wgmma_wait<0>();
  }
  out[threadIdx.x] = total(o);
}

// The next scores are under way while the last ones are used.
__global__ void products_in_turn(int* out) {
  const Tiles t = tiles();
  float s[2][32], o[32] = {};
  unsigned p[4][4];
  wgmma_fence();
  wgmma<64>(s[0], t.of_a, t.of_b, false);
  wgmma_commit();
  for (int j = 0; j < 3; ++j) {
    wgmma_fence();
    wgmma<64>(s[(j + 1) % 2], t.of_a, t.of_b, false);
    wgmma_commit();
    wgmma_wait<1>();
    for (int k = 0; k < 4; ++k) pack(p[k], s[j % 2] + 8 * k);
    wgmma_fence();
    for (int k = 0; k < 4; ++k) wgmma<64, true>(o, p[k], advance(t.of_b, 2048 * k), true);
    wgmma_commit();
    wgmma_wait<0>();
  }
  out[threadIdx.x] = total(o) + total(s[1]);
}

// Two products may have the same A.
__global__ void a_shared_then_changed(int* out) {
  const Tiles t = tiles();
  float d[32], e[32];
  unsigned a[4] = {threadIdx.x, 0, 0, 0};
  wgmma_fence();
  wgmma<64>(d, a, t.of_b, false);
  wgmma<64>(e, a, t.of_b, false);
  wgmma_commit();
  wgmma_wait<0>();
  const int sum = int(a[0] + a[3]);
  a[0] = 0;
  out[threadIdx.x] = sum + int(a[0]) + total(d) + total(e);
}

// --- registers before their wait --------------------------------------------------------------------------

__global__ void read_at_once(int* out) {
  const Tiles t = tiles();
  float d[32];
  wgmma_fence();
  wgmma<64>(d, t.of_a, t.of_b, false);  // [product]
  wgmma_commit();
  out[threadIdx.x] = int(d[5]);  // [touch]
  wgmma_wait<0>();
}

__global__ void wait_one_too_few(int* out) {
  const Tiles t = tiles();
  float first[32], second[32];
  wgmma_fence();
  wgmma<64>(first, t.of_a, t.of_b, false);
  wgmma_commit();
  wgmma<64>(second, t.of_b, t.of_a, false);  // [product]
  wgmma_commit();
  wgmma_wait<1>();
  out[threadIdx.x] = int(first[5]);
  out[threadIdx.x] += int(second[5]);  // [touch]
  wgmma_wait<0>();
}

__global__ void wait_before_commit(int* out) {
  const Tiles t = tiles();
  float d[32];
  wgmma_fence();
  wgmma<64>(d, t.of_a, t.of_b, false);  // [product]
  wgmma_wait<0>();
  wgmma_commit();
  out[threadIdx.x] = int(d[5]);  // [touch]
  wgmma_wait<0>();
}

__global__ void d_overwritten(int* out) {
  const Tiles t = tiles();
  float d[32];
  wgmma_fence();
  wgmma<64>(d, t.of_a, t.of_b, false);  // [product]
  wgmma_commit();
  d[7] = 0.0f;  // [touch]
  wgmma_wait<0>();
  out[threadIdx.x] = total(d);
}

__global__ void a_overwritten(int* out) {
  const Tiles t = tiles();
  float d[32];
  unsigned a[4] = {threadIdx.x, 0, 0, 0};
  wgmma_fence();
  wgmma<64>(d, a, t.of_b, false);  // [product]
  wgmma_commit();
  a[0] = 7;  // [touch]
  wgmma_wait<0>();
  out[threadIdx.x] = total(d);
  wgmma_fence();
  wgmma<64>(d, a, t.of_b, false);
  wgmma_commit();
  wgmma_wait<0>();
}

__global__ void a_read_in_flight(int* out) {
  const Tiles t = tiles();
  float d[32];
  unsigned a[4] = {threadIdx.x, 0, 0, 0};
  wgmma_fence();
  wgmma<64>(d, a, t.of_b, false);  // [product]
  wgmma_commit();
  const int sum = int(a[3]);  // [touch]
  wgmma_wait<0>();
  out[threadIdx.x] = sum + total(d);
}

// The place of A is given to another variable, as a compiler does with an array whose scope has ended.
__global__ void a_place_reused(int* out) {
  const Tiles t = tiles();
  float d[32];
  union {
    unsigned a[4];
    volatile float later[4];
  } place = {{threadIdx.x, 0, 0, 0}};
  wgmma_fence();
  wgmma<64>(d, place.a, t.of_b, false);  // [product]
  wgmma_commit();
  place.later[2] = float(threadIdx.x);  // [touch]
  wgmma_wait<0>();
  out[threadIdx.x] = total(d) + int(place.later[2]);
}

// The same by a function that nothing watches.
__global__ void a_changed_unwatched(int* out) {
  const Tiles t = tiles();
  float d[32];
  unsigned a[4] = {threadIdx.x, 0, 0, 0};
  void* (*volatile fill)(void*, int, std::size_t) = std::memset;
  wgmma_fence();
  wgmma<64>(d, a, t.of_b, false);  // [product]
  wgmma_commit();
  fill(a + 1, 1, 4);
  wgmma_wait<0>();
  out[threadIdx.x] = total(d);
}

// --- fences -------------------------------------------------------------------------------------------

__global__ void no_fence_at_all(int* out) {
  const Tiles t = tiles();
  float d[32];
  wgmma<64>(d, t.of_a, t.of_b, false);  // [product]
  wgmma_commit();
  wgmma_wait<0>();
  out[threadIdx.x] = total(d);
}

__global__ void d_touched_after_fence(int* out) {
  const Tiles t = tiles();
  float d[32] = {};
  wgmma_fence();
  d[3] = float(threadIdx.x);           // [touch]
  wgmma<64>(d, t.of_a, t.of_b, true);  // [product]
  wgmma_commit();
  wgmma_wait<0>();
  out[threadIdx.x] = total(d);
}

__global__ void a_packed_after_fence(int* out) {
  const Tiles t = tiles();
  float d[32] = {};
  unsigned a[4] = {};
  wgmma_fence();
  a[1] = threadIdx.x;             // [touch]
  wgmma<64>(d, a, t.of_b, true);  // [product]
  wgmma_commit();
  wgmma_wait<0>();
  out[threadIdx.x] = total(d);
}

__global__ void d_read_then_product(int* out) {
  const Tiles t = tiles();
  float d[32];
  wgmma_fence();
  wgmma<64>(d, t.of_a, t.of_b, false);
  wgmma_commit();
  wgmma_wait<0>();
  out[threadIdx.x] = int(d[9]);         // [touch]
  wgmma<64>(d, t.of_a, t.of_b, false);  // [product]
  wgmma_commit();
  wgmma_wait<0>();
}

__global__ void shape_changed(int* out) {
  const Tiles t = tiles();
  float d[32];
  auto& some = reinterpret_cast<float(&)[8]>(d);
  wgmma_fence();
  wgmma<64>(d, t.of_a, t.of_b, false);    // [touch]
  wgmma<16>(some, t.of_a, t.of_b, true);  // [product]
  wgmma_commit();
  wgmma_wait<0>();
  out[threadIdx.x] = total(d);
}

// --- the rest ------------------------------------------------------------------------------------------

__global__ void never_waited(int* out) {
  const Tiles t = tiles();
  float d[32];
  wgmma_fence();
  wgmma<64>(d, t.of_a, t.of_b, false);  // [product]
  wgmma_commit();
  out[threadIdx.x] = 1;
}

__global__ void never_committed(int* out) {
  const Tiles t = tiles();
  float d[32];
  wgmma_fence();
  wgmma<64>(d, t.of_a, t.of_b, false);  // [product]
  wgmma_wait<0>();
  out[threadIdx.x] = 1;
}

__global__ void operand_overwritten(int* out) {
  const Tiles t = tiles();
  float d[32];
  wgmma_fence();
  wgmma<64>(d, t.of_a, t.of_b, false);  // [product]
  wgmma_commit();
  if (threadIdx.x == 37) t.b[5] = half(1.0f);  // [write]
  wgmma_wait<0>();
  out[threadIdx.x] = total(d);
}

__global__ void no_proxy_fence(int* out) {
  const Tiles t = tiles();
  float d[32];
  t.b[threadIdx.x] = half(2.0f);  // [write]
  __syncthreads();
  wgmma_fence();
  wgmma<64>(d, t.of_a, t.of_b, false);  // [product]
  wgmma_commit();
  wgmma_wait<0>();
  out[threadIdx.x] = total(d);
}

__global__ void no_barrier(int* out) {
  const Tiles t = tiles();
  float d[32];
  t.b[threadIdx.x] = half(2.0f);  // [write]
  fence_proxy_async();
  wgmma_fence();
  wgmma<64>(d, t.of_a, t.of_b, false);  // [product]
  wgmma_commit();
  wgmma_wait<0>();
  out[threadIdx.x] = total(d);
}

}  // namespace lab::wgmma_kernels
