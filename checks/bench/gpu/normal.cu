#include "checks/acceptance/device_tensors.hpp"
#include "checks/bench/gpu/device.hpp"
#include "checks/bench/gpu/mixed.cuh"

namespace {

using lab::gpu::mixed;

__global__ void normal_numbers(half* to, std::size_t pairs, std::uint64_t seed, float factor, float offset) {
  const std::size_t step = std::size_t(gridDim.x) * blockDim.x;
  for (std::size_t i = std::size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < pairs; i += step) {
    const std::uint64_t bits = mixed(mixed(seed) + 0x9E3779B97F4A7C15ull * (i + 1));
    const float u = (float(bits >> 40) + 0.5f) * 0x1p-24f, angle = float(bits & 0xFFFFFF) * 0x1p-24f;
    const float radius = sqrtf(-2.0f * logf(u));
    float sine, cosine;
    sincospif(2.0f * angle, &sine, &cosine);
    to[2 * i] = __float2half(radius * cosine * factor + offset);
    to[2 * i + 1] = __float2half(radius * sine * factor + offset);
  }
}

__global__ void bad_elements(const half* now, const half* before, std::size_t size, unsigned long long* bad) {
  const std::size_t step = std::size_t(gridDim.x) * blockDim.x;
  unsigned long long mine = 0;
  for (std::size_t i = std::size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < size; i += step) {
    const unsigned short bits = __half_as_ushort(now[i]);
    mine += (bits & 0x7FFF) > 0x7C00 || (before && bits != __half_as_ushort(before[i]));
  }
  if (mine) atomicAdd(bad, mine);
}

}  // namespace

std::size_t lab::gpu::count_bad(const half* now, const half* before, std::size_t size, cudaStream_t stream) {
  const Buffer<unsigned long long> bad(1);
  unsigned long long count = 0;
  check_cuda(cudaMemsetAsync(bad.data(), 0, sizeof count, stream), "cudaMemset");
  bad_elements<<<1024, 256, 0, stream>>>(now, before, size, bad.data());
  check_cuda(cudaGetLastError(), "comparing outputs");
  check_cuda(cudaMemcpyAsync(&count, bad.data(), sizeof count, cudaMemcpyDeviceToHost, stream), "cudaMemcpy to host");
  check_cuda(cudaStreamSynchronize(stream), "comparing outputs");
  return count;
}

void lab::gpu::fill_normal(half* to, std::size_t size, std::uint64_t seed, cudaStream_t stream, float factor,
                           float offset) {
  normal_numbers<<<1024, 256, 0, stream>>>(to, size / 2, seed, factor, offset);  // D is even, and so is every size
  check_cuda(cudaGetLastError(), "making inputs");
}
