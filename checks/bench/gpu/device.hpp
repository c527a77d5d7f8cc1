// The benchmark's needs of a GPU beyond launching: memory without ceremony, normal numbers and comparisons made in
// place, and the clocks and power that a figure was measured at.
#pragma once
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "checks/acceptance/device_tensors.hpp"

namespace lab::gpu {

template <class T>
class Buffer {
 public:
  explicit Buffer(std::size_t size) : size_(size) { check_cuda(cudaMalloc(&data_, size * sizeof(T)), "cudaMalloc"); }
  Buffer(Buffer&& other) noexcept : data_(std::exchange(other.data_, nullptr)), size_(other.size_) {}
  Buffer& operator=(Buffer&&) = delete;
  ~Buffer() { cudaFree(data_); }
  T* data() const { return data_; }
  std::size_t bytes() const { return size_ * sizeof(T); }
  std::vector<fp16> download(std::size_t first, std::size_t count) const {
    std::vector<fp16> host(count);
    check_cuda(cudaMemcpy(host.data(), data_ + first, count * sizeof(T), cudaMemcpyDeviceToHost), "cudaMemcpy to host");
    return host;
  }

 private:
  T* data_ = nullptr;
  std::size_t size_;
};

// Fills with N(0,1) times `factor` plus `offset`, a hash of (seed, index): drawing the long shapes' numbers on the host
// would take longer than timing them.
void fill_normal(half* to, std::size_t size, std::uint64_t seed, cudaStream_t stream, float factor = 1,
                 float offset = 0);

// Elements of `now` that are NaN, or differ in any bit from `before` (if that is not null).
std::size_t count_bad(const half* now, const half* before, std::size_t size, cudaStream_t stream);

// As NVML reads them now: the clock, and the energy since the driver was loaded, a counter that moves every 100 ms or
// less. Nothing where NVML is not to be had.
struct State {
  double sm_mhz = 0, joules = 0;
};
std::optional<State> state_now();

}  // namespace lab::gpu
