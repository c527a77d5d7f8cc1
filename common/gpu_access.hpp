// Agreed among processes that run kernels at the same time: how long a launch may take, and which has the GPU.
#pragma once
#include <cuda_runtime.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "common/backend.hpp"
#include "common/shape.hpp"

namespace lab {

// A launch that is unfinished on a GPU after this many seconds counts as hanging. The slowest stage multiplies and adds
// 10^12 times a second on an H200; a hundredth of it leaves room for a small GPU.
inline constexpr double HANG_SECONDS = 2, SLOWEST_RATE = 1e10;
constexpr double hang_seconds(const Shape& shape) {
  return HANG_SECONDS + 2.0 * double(shape.elements()) * shape.S / SLOWEST_RATE;
}

// A launch that takes longer hangs, or compute-sanitizer watches it: the GPU is shared with others from then on.
inline constexpr double ALONE_SECONDS = 0.2;

// While it lives, no other process of this tree has one: others wait. Between two processes a GPU forgets the NaN that
// a launch is to find in shared memory, and a kernel's time would be that of several. The CPU is shared without it.
class ExclusiveGpu {
 public:
  ExclusiveGpu() {
    if (can_schedule()) return;
    cudaFree(nullptr);  // the process's context, which takes a second or more, is made before others have to wait
    file_ = open("build/gpu.lock", O_CREAT | O_RDWR | O_CLOEXEC, 0666);
    if (file_ >= 0) flock(file_, LOCK_EX);
  }
  ~ExclusiveGpu() { release(); }
  ExclusiveGpu(const ExclusiveGpu&) = delete;
  ExclusiveGpu& operator=(const ExclusiveGpu&) = delete;

  // Waits for all launches, like synchronize_within, the first ALONE_SECONDS of it alone.
  cudaError_t synchronize(double seconds) {
    const cudaError_t early = synchronize_within(seconds < ALONE_SECONDS ? seconds : ALONE_SECONDS);
    if (early != cudaErrorNotReady || seconds <= ALONE_SECONDS) return early;
    release();
    return synchronize_within(seconds - ALONE_SECONDS);
  }

 private:
  void release() {
    if (file_ >= 0) close(file_);
    file_ = -1;
  }

  int file_ = -1;
};

}  // namespace lab
