// The machine that runs a candidate for the validator. On a GPU a graph of the calls is captured, and replayed between two events. The CPU
// execution has no clock to believe, and all else of the protocol. Of both:
//   stream()            of its own, so that a launch elsewhere is seen
//   gather()            what `call(0)` to `call(calls - 1)` launch on stream(), to run in one go. Throws Refused, then or when it runs, where a
//                       call launches nothing, or elsewhere
//   settings_changed()  the device settings that a candidate has changed, such as an L2 that keeps; "" if nothing
#pragma once
#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "checks/acceptance/device_tensors.hpp"
#include "checks/acceptance/format.hpp"
#include "common/backend.hpp"
#ifdef LAB_GPU
#include "checks/bench/gpu/stopwatch.hpp"
#else
#include "common/emulator/launch.hpp"
#endif

namespace lab::search {

// Why a candidate is refused: the guard that caught it, or "launch", and what it saw.
struct Refused : std::runtime_error {
  Refused(const std::string& guard, const std::string& seen) : std::runtime_error(guard + ": " + seen) {}
};

// Calls of the candidate that run in one go: microseconds a call, or nothing where there is no clock to believe.
using Batch = std::function<std::optional<double>()>;

// Makes the calls, each of which must launch as many kernels as the first, and one at least: on_stream() counts them.
template <class OnStream>
void launch_all(int calls, const std::function<void(int)>& call, OnStream on_stream) {
  std::size_t before = on_stream(), each = 0;
  for (int i = 0; i < calls; ++i) {
    call(i);
    const std::size_t now = on_stream(), own = now - std::exchange(before, now);
    if (own == 0) throw Refused("stream", format("call %d launched nothing on the stream that it was given", i));
    if (i == 0) each = own;
    if (own != each) throw Refused("stream", format("call %d launched another number of kernels than the first", i));
  }
}

#ifdef LAB_GPU

class Device {
 public:
  static constexpr bool HAS_CLOCK = true;
  Device() { check_cuda(cudaDeviceGetLimit(&persisting_, cudaLimitPersistingL2CacheSize), "cudaDeviceGetLimit"); }
  cudaStream_t stream() { return stream_; }

  Batch gather(int calls, const std::function<void(int)>& call) {
    std::shared_ptr<gpu::Graph> graph;
    try {
      graph = std::make_shared<gpu::Graph>(stream_, [&] { launch_all(calls, call, [this] { return nodes(); }); });
    } catch (const CudaError& e) {
      throw Refused("stream", std::string("what it launched elsewhere is not waited for: ") + e.what());
    }
    check_cuda(cudaStreamSynchronize(stream_), "cudaGraphUpload");
    return [=, this] { return watch_.time(stream_, [&] { graph->replay(); }) / calls; };
  }

  std::string settings_changed() {
    std::size_t persisting = 0;
    check_cuda(cudaDeviceGetLimit(&persisting, cudaLimitPersistingL2CacheSize), "cudaDeviceGetLimit");
    cudaStreamAttrValue window{};
    check_cuda(cudaStreamGetAttribute(stream_, cudaStreamAttributeAccessPolicyWindow, &window),
               "cudaStreamGetAttribute");
    if (persisting != persisting_) return format("it has set %zu bytes of the L2 aside to persist", persisting);
    if (window.accessPolicyWindow.num_bytes != 0) return "it has left an access policy on the stream";
    return "";
  }

 private:
  std::size_t nodes() {
    cudaStreamCaptureStatus status{};
    cudaGraph_t graph = nullptr;
    std::size_t count = 0;
    check_cuda(cudaStreamGetCaptureInfo(stream_, &status, nullptr, &graph), "cudaStreamGetCaptureInfo");
    if (status != cudaStreamCaptureStatusActive || !graph) return 0;
    check_cuda(cudaGraphGetNodes(graph, nullptr, &count), "cudaGraphGetNodes");
    return count;
  }

  gpu::Stream stream_;
  gpu::Stopwatch watch_;
  std::size_t persisting_ = 0;
};

#else

class Device {
 public:
  static constexpr bool HAS_CLOCK = false;
  Device() {
    ExecOptions options = before_;
    options.check = can_check();  // races, and what lies outside of what was asked for
    set_exec_options(options);
  }
  ~Device() { set_exec_options(before_); }
  cudaStream_t stream() { return test_stream(); }

  Batch gather(int calls, const std::function<void(int)>& call) {
    const auto on_stream = [this] {
      const auto elsewhere = [this](const Launched& l) { return l.stream != stream(); };
      if (const auto some = std::ranges::count_if(cpu::launched(), elsewhere))
        throw Refused("stream", format("%td kernels were launched on another stream than the one given", some));
      return cpu::launched().size();
    };
    return [=]() -> std::optional<double> { return launch_all(calls, call, on_stream), std::nullopt; };
  }

  std::string settings_changed() {
    std::size_t persisting = 0;
    cudaDeviceGetLimit(&persisting, cudaLimitPersistingL2CacheSize);
    return persisting == 0 ? "" : format("it has set %zu bytes of the L2 aside to persist", persisting);
  }

 private:
  const ExecOptions before_ = exec_options();
};

#endif

}  // namespace lab::search
