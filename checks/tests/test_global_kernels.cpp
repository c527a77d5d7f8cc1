// The kernels of checks/tests/test_global.cpp. A comment such as [write] marks the line that a report must name.
#include "checks/tests/test_global_kernels.hpp"

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "common/ptx/reduce.cuh"

namespace lab::global_kernels {

// --- right ---------------------------------------------------------------------------------------
__global__ void own_elements(float* out) { out[blockIdx.x * blockDim.x + threadIdx.x] = float(blockIdx.x); }

// Two blocks at one word, each with a half of it.
__global__ void own_halves(float* out) {
  if (threadIdx.x == 0) reinterpret_cast<half*>(out)[blockIdx.x] = __float2half(1.0f);
}

__global__ void all_read(float* out) {
  const float x = out[0];
  out[1 + blockIdx.x * blockDim.x + threadIdx.x] = x;
}

__global__ void atomic_sums(float* out) { atomicAdd(&out[threadIdx.x], float(1 << blockIdx.x)); }

__global__ void sums_of_four(float* out) {
  const float x = float(1 << blockIdx.x);
  if (threadIdx.x % 4 == 0) ptx::add4(&out[threadIdx.x], x, x, x, x);
}

__global__ void read_after_own_write(float* out) {
  float* const own = out + blockIdx.x * blockDim.x + threadIdx.x;
  *own = 1.0f;
  *own += 2.0f;
}

// --- wrong ---------------------------------------------------------------------------------------
__global__ void written_twice(float* out) {
  if (threadIdx.x == 3) out[5] = float(blockIdx.x);  // [write]
}

__global__ void plain_sum(float* out) {
  if (threadIdx.x == 3) out[5] += 1.0f;  // [sum]
}

__global__ void plain_over_atomic(float* out) {
  if (threadIdx.x == 3 && blockIdx.x == 0) atomicAdd(&out[5], 1.0f);  // [atomic]
  if (threadIdx.x == 3 && blockIdx.x == 1) out[5] = 1.0f;             // [write]
}

// Block 0's own atomic sum does not hide that it has zeroed what block 1 adds to.
__global__ void zeroed_by_one(float* out) {
  if (threadIdx.x == 3 && blockIdx.x == 0) out[5] = 0.0f;  // [zero]
  if (threadIdx.x == 3) atomicAdd(&out[5], 1.0f);          // [atomic]
}

__global__ void read_of_a_sum(float* out) {
  if (threadIdx.x == 3) atomicAdd(&out[5], 1.0f);                // [atomic]
  if (threadIdx.x == 3 && blockIdx.x == 1) out[6] = out[5] * 2;  // [read]
}

__global__ void read_of_another(float* out) {
  if (threadIdx.x == 3 && blockIdx.x == 0) out[5] = 1.0f;    // [write]
  if (threadIdx.x == 4 && blockIdx.x == 1) out[6] = out[5];  // [read]
}

// All read, one writes: whichever comes last.
__global__ void read_then_written(float* out) {
  if (threadIdx.x == 3) out[8 + blockIdx.x] = out[5];      // [read]
  if (threadIdx.x == 3 && blockIdx.x == 1) out[5] = 2.0f;  // [write]
}

// --- arithmetic ----------------------------------------------------------------------------------
__global__ void flushed_sum(float* out) {
  if (threadIdx.x == 0) out[8] = atomicAdd(&out[0], 0x1p-126f);
  if (threadIdx.x == 0) atomicAdd(&out[0], -0x1.8p-126f);  // what would be left is subnormal: zero
  if (threadIdx.x == 0) atomicAdd(&out[1], 0x1p-130f);     // so is this number
}

}  // namespace lab::global_kernels
