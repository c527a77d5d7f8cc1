// Compiled with the checker's instrumentation; nothing else belongs here.
#include "checks/tests/test_counters_kernels.hpp"

#include <cuda_runtime.h>

#include "common/cpu/instructions.h"
#include "common/cpu/plain_launch.h"

namespace lab::counters_kernels {

namespace {

// At a multiple of 1024, and not counted: it is never written.
std::byte* memory() { return plain::dynamic_shared<std::byte>("s"); }

}  // namespace

// One place in the source, other addresses each time: what the last cost says nothing of the next.
__global__ void other_places_each_time(float* out) {
  const int pitches[] = {4, 128, 4, 64, 68}, first[] = {0, 0, 1, 2, 3};
  volatile float* s = reinterpret_cast<float*>(memory());
  for (int i = 0; i < 5; ++i) {
    s[threadIdx.x * unsigned(pitches[i]) / 4] = 1.0f;
    out[threadIdx.x * unsigned(i < 3 ? 1 : 2) + unsigned(first[i])] = 1.0f;
  }
}

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
