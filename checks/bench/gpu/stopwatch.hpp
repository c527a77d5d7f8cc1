// To time a kernel: a stream, time on a GPU, a graph of launches, and the refusal of a kernel that fails.
#pragma once
#include <cuda_runtime.h>

#include <stdexcept>
#include <string>

#include "checks/acceptance/device_tensors.hpp"
#include "common/backend.hpp"

namespace lab::gpu {

inline constexpr double SLOWEST_CALL = 2e6;  // us: a slower case is left out
inline constexpr double GRAPH_LENGTH = 2e3;  // us that a graph should last, so that starting it does not count

struct NotTimed : std::runtime_error {  // the kernel fails, or cannot be trusted
  using std::runtime_error::runtime_error;
};
// Of a launch that returned `error`.
inline void check_started(cudaError_t error) {
  const cudaError_t last = cudaGetLastError();
  const std::string message = take_exec_report().message;
  if (error != cudaSuccess || last != cudaSuccess)
    throw NotTimed(std::string("launch refused: ") + cudaGetErrorName(error != cudaSuccess ? error : last) +
                   (message.empty() ? "" : ": " + message));
}
class Stream {
 public:
  Stream() { check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate"); }
  ~Stream() { cudaStreamDestroy(stream_); }
  operator cudaStream_t() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

// The launches of `work` on a stream, as a CUDA graph to replay there.
class Graph {
 public:
  template <class Work>
  Graph(cudaStream_t stream, Work work) : stream_(stream) {
    check_cuda(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    work();
    check_cuda(cudaStreamEndCapture(stream_, &graph_), "cudaStreamEndCapture");
    check_cuda(cudaGraphInstantiate(&exec_, graph_, 0), "cudaGraphInstantiate");
    check_cuda(cudaGraphUpload(exec_, stream_), "cudaGraphUpload");
  }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ~Graph() { cudaGraphExecDestroy(exec_), cudaGraphDestroy(graph_); }
  void replay() const { check_cuda(cudaGraphLaunch(exec_, stream_), "cudaGraphLaunch"); }

 private:
  cudaStream_t stream_;
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t exec_ = nullptr;
};

class Stopwatch {
 public:
  Stopwatch() {
    check_cuda(cudaEventCreate(&start_), "cudaEventCreate");
    check_cuda(cudaEventCreate(&stop_), "cudaEventCreate");
  }
  ~Stopwatch() { cudaEventDestroy(start_), cudaEventDestroy(stop_); }
  // Microseconds between two events around `work`.
  template <class Work>
  double time(cudaStream_t stream, Work work) {
    check_cuda(cudaEventRecord(start_, stream), "cudaEventRecord");
    work();
    check_cuda(cudaEventRecord(stop_, stream), "cudaEventRecord");
    check_cuda(cudaEventSynchronize(stop_), "the timed launches");
    float milliseconds = 0;
    check_cuda(cudaEventElapsedTime(&milliseconds, start_, stop_), "cudaEventElapsedTime");
    return 1000.0 * milliseconds;
  }

 private:
  cudaEvent_t start_ = nullptr, stop_ = nullptr;
};

}  // namespace lab::gpu
