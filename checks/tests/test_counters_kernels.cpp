// Compiled with the checker's instrumentation; nothing else belongs here.
#include "checks/tests/test_counters_kernels.hpp"

#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include "common/cpu/instructions.h"
#include "common/cpu/plain_launch.h"
#include "common/emulator/special_functions.hpp"
#include "common/warp.cuh"

namespace lab::counters_kernels {

int pitch = 0;

namespace {

// At a multiple of 1024, and not counted: it is never written.
std::byte* memory() { return plain::dynamic_shared<std::byte>("s"); }

template <class Vector>
__device__ __forceinline__ void down_a_column(float* out) {
  const Vector x = *reinterpret_cast<const Vector*>(memory() + threadIdx.x % 32 * unsigned(pitch));
  out[0] = reinterpret_cast<const float&>(x);
}

}  // namespace

__global__ void down_a_column_4(float* out) { down_a_column<float>(out); }
__global__ void down_a_column_8(float* out) { down_a_column<float2>(out); }
__global__ void down_a_column_16(float* out) { down_a_column<float4>(out); }

__global__ void one_word_for_all(float* out) { out[0] = reinterpret_cast<const float*>(memory())[7]; }

__global__ void half_of_the_lanes(float*) {
  if (threadIdx.x % 2) reinterpret_cast<float*>(memory())[threadIdx.x] = 1.0f;
}

// A loop whose length depends on the lane: as many instructions as the longest has turns.
__global__ void twice_as_often_in_odd_lanes(float*) {
  volatile float* s = reinterpret_cast<float*>(memory());
  for (unsigned i = 0; i < 2 + 2 * (threadIdx.x % 2); ++i) s[threadIdx.x] = float(i);
}

// Changed word by word; in memory it is one access each.
__global__ void whole_vectors(float*) {
  auto* s = reinterpret_cast<uint4*>(memory());
  const uint4 x = s[threadIdx.x];
  s[threadIdx.x] = make_uint4(x.x ^ 1, x.y ^ 2, x.z ^ 3, x.w ^ 4);
}

// One place in the source, other addresses each time: what the last cost says nothing of the next.
__global__ void other_places_each_time(float* out) {
  const int pitches[] = {4, 128, 4, 64, 68}, first[] = {0, 0, 1, 2, 3};
  volatile float* s = reinterpret_cast<float*>(memory());
  for (int i = 0; i < 5; ++i) {
    s[threadIdx.x * unsigned(pitches[i]) / 4] = 1.0f;
    out[threadIdx.x * unsigned(i < 3 ? 1 : 2) + unsigned(first[i])] = 1.0f;
  }
}

__global__ void global_every_word(float* out) { out[threadIdx.x] = 1.0f; }
__global__ void global_every_other(float* out) { out[2 * threadIdx.x] = 1.0f; }
__global__ void global_scattered(float* out) { out[64 * threadIdx.x] = 1.0f; }

__global__ void ldmatrix_rows(float* out) {
  unsigned x[4];
  cpu::ldmatrix(x, reinterpret_cast<const half*>(memory() + threadIdx.x * unsigned(pitch)), 4, false);
  out[0] = float(x[0]);
}
// Rows of 128 bytes whose 16-byte pieces change places by the row.
__global__ void ldmatrix_swizzled(float* out) {
  unsigned x[4];
  const unsigned row = threadIdx.x, chunk = threadIdx.x / 8;
  cpu::ldmatrix(x, reinterpret_cast<const half*>(memory() + row * 128 + (chunk ^ row % 8) * 16), 4, false);
  out[0] = float(x[0]);
}

__global__ void copies_16(float* out) {
  __pipeline_memcpy_async(memory() + 16 * threadIdx.x, out + 4 * threadIdx.x, 16);
  __pipeline_commit();
  __pipeline_wait_prior(0);
}

__global__ void exponentials_of_some(float* out) {
  cpu::counted(Counted::exponential);
  float x = ex2_approx_ftz(float(threadIdx.x));
  if (threadIdx.x < 8) x += __expf(x);
  out[threadIdx.x] = x;
}

__global__ void reductions(float* out) { out[0] = warp_sum(1.0f) + quad_max(2.0f); }

// Warp w stores 10 w times, then all meet.
__global__ void waits_for_the_slowest(float*) {
  volatile float* s = reinterpret_cast<float*>(memory());
  for (unsigned i = 0; i < 10 * (threadIdx.x / 32); ++i) s[threadIdx.x] = 1.0f;
  __syncthreads();
}
// Warp 1 stores 20 times and arrives; warp 0 waits for it.
__global__ void late_for_a_named_barrier(float*) {
  volatile float* s = reinterpret_cast<float*>(memory());
  if (threadIdx.x >= 32) {
    for (unsigned i = 0; i < 20; ++i) s[threadIdx.x] = 1.0f;
    cpu::named_barrier(1, 64, false);
  } else {
    cpu::named_barrier(1, 64, true);
  }
}

// 96 threads a block at 64 words of its memory.
__global__ void races_everywhere(float* out) {
  int* s = reinterpret_cast<int*>(memory());
  if (threadIdx.x < 64) s[threadIdx.x] = 0;
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = float(s[threadIdx.x % 64]);
  if (threadIdx.x < 64) s[63 - threadIdx.x] = 1;
}
__global__ void spins_on_plain(float* out) {
  while (blockDim.x > 1 && out[0] == 0) asm volatile("" ::: "memory");
}

}  // namespace lab::counters_kernels
