#include "checks/acceptance/device_tensors.hpp"
#include "checks/bench/gpu/device.hpp"

namespace {

__device__ std::uint64_t mixed(std::uint64_t x) {  // the finaliser of splitmix64
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

__global__ void normal_numbers(half* to, std::size_t pairs, std::uint64_t seed) {
  const std::size_t step = std::size_t(gridDim.x) * blockDim.x;
  for (std::size_t i = std::size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < pairs; i += step) {
    const std::uint64_t bits = mixed(mixed(seed) + 0x9E3779B97F4A7C15ull * (i + 1));
    const float u = (float(bits >> 40) + 0.5f) * 0x1p-24f, angle = float(bits & 0xFFFFFF) * 0x1p-24f;
    const float radius = sqrtf(-2.0f * logf(u));
    float sine, cosine;
    sincospif(2.0f * angle, &sine, &cosine);
    to[2 * i] = __float2half(radius * cosine);
    to[2 * i + 1] = __float2half(radius * sine);
  }
}

__global__ void nan_elements(const half* tensor, std::size_t size, unsigned long long* count) {
  const std::size_t step = std::size_t(gridDim.x) * blockDim.x;
  unsigned long long mine = 0;
  for (std::size_t i = std::size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < size; i += step) {
    mine += (__half_as_ushort(tensor[i]) & 0x7FFF) > 0x7C00;
  }
  if (mine) atomicAdd(count, mine);
}

}  // namespace

std::size_t lab::gpu::count_nan(const half* tensor, std::size_t size, cudaStream_t stream) {
  const Buffer<unsigned long long> sum(1);
  unsigned long long count = 0;
  check_cuda(cudaMemsetAsync(sum.data(), 0, sizeof count, stream), "cudaMemset");
  nan_elements<<<1024, 256, 0, stream>>>(tensor, size, sum.data());
  check_cuda(cudaGetLastError(), "looking for NaN");
  check_cuda(cudaMemcpyAsync(&count, sum.data(), sizeof count, cudaMemcpyDeviceToHost, stream), "cudaMemcpy to host");
  check_cuda(cudaStreamSynchronize(stream), "looking for NaN");
  return count;
}

void lab::gpu::fill_normal(half* to, std::size_t size, std::uint64_t seed, cudaStream_t stream) {
  normal_numbers<<<1024, 256, 0, stream>>>(to, size / 2, seed);  // D is even, and so is every size
  check_cuda(cudaGetLastError(), "making inputs");
}
