// A stream, and time on a GPU.
#pragma once
#include <cuda_runtime.h>

#include "checks/acceptance/device_tensors.hpp"

namespace lab::gpu {

class Stream {
 public:
  Stream() { check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate"); }
  ~Stream() { cudaStreamDestroy(stream_); }
  operator cudaStream_t() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

class Stopwatch {
 public:
  Stopwatch() {
    check_cuda(cudaEventCreate(&start_), "cudaEventCreate");
    check_cuda(cudaEventCreate(&stop_), "cudaEventCreate");
  }
  ~Stopwatch() { cudaEventDestroy(start_), cudaEventDestroy(stop_); }
  // Microseconds between two events around `work`; `meanwhile` runs on the host while the GPU is busy.
  template <class Work, class Meanwhile>
  double time(cudaStream_t stream, Work work, Meanwhile meanwhile) {
    check_cuda(cudaEventRecord(start_, stream), "cudaEventRecord");
    work();
    check_cuda(cudaEventRecord(stop_, stream), "cudaEventRecord");
    meanwhile();
    check_cuda(cudaEventSynchronize(stop_), "the timed launches");
    float milliseconds = 0;
    check_cuda(cudaEventElapsedTime(&milliseconds, start_, stop_), "cudaEventElapsedTime");
    return 1000.0 * milliseconds;
  }
  template <class Work>
  double time(cudaStream_t stream, Work work) {
    return time(stream, work, [] {});
  }

 private:
  cudaEvent_t start_ = nullptr, stop_ = nullptr;
};

}  // namespace lab::gpu
