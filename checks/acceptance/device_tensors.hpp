// Device memory: plain buffers, and fp16 tensors with a canary on both sides; written against the CUDA runtime API alone: the
// same code drives a GPU and the CPU backend.
#pragma once
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "common/fp16.hpp"

namespace lab {

static_assert(sizeof(half) == sizeof(fp16), "tensors are copied as bits");

// A CUDA call of the harness itself failed; a launch that fails is a result, not an exception.
struct CudaError : std::runtime_error {
  using std::runtime_error::runtime_error;
};
inline void check_cuda(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  throw CudaError(std::string(what) + ": " + cudaGetErrorName(error) + " (" + cudaGetErrorString(error) + ")");
}

// Where tests launch: not the null stream, so that a kernel launched elsewhere is seen. The null stream's work, such as
// cudaMemset, is ordered with it.
inline cudaStream_t test_stream() {
  static const cudaStream_t stream = [] {
    cudaStream_t made = nullptr;
    check_cuda(cudaStreamCreate(&made), "cudaStreamCreate");
    return made;
  }();
  return stream;
}

// Device memory without ceremony: nothing is written to it.
template <class T>
class Buffer {
 public:
  explicit Buffer(std::size_t size) : size_(size) { check_cuda(cudaMalloc(&data_, size * sizeof(T)), "cudaMalloc"); }
  Buffer(Buffer&& other) noexcept : data_(std::exchange(other.data_, nullptr)), size_(other.size_) {}
  Buffer& operator=(Buffer&&) = delete;
  ~Buffer() { cudaFree(data_); }
  T* data() const { return data_; }
  std::size_t bytes() const { return size_ * sizeof(T); }

 private:
  T* data_ = nullptr;
  std::size_t size_;
};

// 512 bytes: the tensor between the canaries keeps the 256-byte alignment of cudaMalloc.
inline constexpr std::size_t CANARY = 256;

// Every canary element is a NaN, so that a kernel that reads past a tensor and uses what it finds shows it in
// its output. The payloads differ, and are signalling NaNs, which no fp32 -> fp16 conversion produces.
constexpr fp16 canary(std::size_t i) { return {std::uint16_t(0x7D00u | (i & 0xFFu))}; }

class DeviceTensor {
 public:
  // canaries = false gives the bare buffer: a checker that watches its exact end sees every element past it.
  explicit DeviceTensor(std::size_t elements, bool canaries = true)
      : elements_(elements), margin_(canaries ? CANARY : 0), memory_(elements + 2 * margin_) {
    std::vector<fp16>& all = scratch();
    all.assign(elements_ + 2 * margin_, FP16_NAN);
    for (std::size_t i = 0; i < margin_; ++i) all[i] = all[margin_ + elements_ + i] = canary(i);
    copy_in(memory_.data(), all);
  }
  explicit DeviceTensor(std::span<const fp16> values, bool canaries = true) : DeviceTensor(values.size(), canaries) {
    copy_in(data(), values);
  }

  half* data() const { return memory_.data() + margin_; }
  std::size_t size() const { return elements_; }

  // Fills the tensor with a NaN, so that what a kernel leaves out can't pass for an earlier result. Its two bytes must
  // be the same.
  void poison(fp16 with = FP16_NAN) {
    check_cuda(cudaMemset(data(), with.bits & 0xFF, elements_ * sizeof(half)), "cudaMemset");
  }

  // The values, which stay until another tensor is fetched; `damage` tells where a canary was overwritten, and is "" if none
  // was.
  std::span<const fp16> fetch(std::string& damage) const {
    std::vector<fp16>& all = scratch();
    all.resize(elements_ + 2 * margin_);
    check_cuda(cudaMemcpy(all.data(), memory_.data(), memory_.bytes(), cudaMemcpyDeviceToHost), "cudaMemcpy to host");
    damage.clear();
    for (std::size_t i = 0; i < margin_ && damage.empty(); ++i) {
      if (all[margin_ - 1 - i] != canary(margin_ - 1 - i))
        damage = std::to_string(i + 1) + " elements before its start";
      else if (all[margin_ + elements_ + i] != canary(i))
        damage = std::to_string(i) + " elements past its end";
    }
    return std::span<const fp16>(all).subspan(margin_, elements_);
  }

 private:
  // Where tensors pass through: a new vector of megabytes each time would take longer than what is done with it.
  static std::vector<fp16>& scratch() {
    static thread_local std::vector<fp16> elements;
    return elements;
  }
  static void copy_in(half* to, std::span<const fp16> from) {
    check_cuda(cudaMemcpy(to, from.data(), from.size_bytes(), cudaMemcpyHostToDevice), "cudaMemcpy to device");
  }

  std::size_t elements_, margin_;
  Buffer<half> memory_;
};

}  // namespace lab
