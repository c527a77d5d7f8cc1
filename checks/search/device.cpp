// The validator's machines. On a GPU a graph of the calls is captured, and replayed between two events. The CPU execution has no clock
// to believe, and all else of the protocol.
#include "checks/acceptance/format.hpp"
#include "checks/search/validator.hpp"
#include "common/backend.hpp"
#ifdef LAB_GPU
#include "checks/bench/gpu/device.hpp"
#include "checks/bench/gpu/stopwatch.hpp"
#else
#include "common/emulator/launch.hpp"
#include "common/fp16.hpp"
#include "reference/hash.hpp"
#include "reference/inputs.hpp"
#endif

namespace lab::search {
namespace {

#ifdef LAB_GPU

class Gpu final : public Device {
 public:
  Gpu() { check_cuda(cudaDeviceGetLimit(&persisting_, cudaLimitPersistingL2CacheSize), "cudaDeviceGetLimit"); }
  cudaStream_t stream() override { return stream_; }
  bool has_clock() const override { return true; }
  void fill(half* to, std::size_t size, std::uint64_t seed, float factor, float offset) override {
    gpu::fill_normal(to, size, seed, stream_, factor, offset);
  }
  std::uint64_t digest(const half* tensor, std::size_t size) override { return gpu::digest(tensor, size, stream_); }

  Batch gather(int calls, const std::function<void(int)>& call) override {
    check_cuda(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    std::size_t each = 0;
    for (int i = 0; i < calls; ++i) {
      call(i);
      const std::size_t now = nodes();
      if (i == 0) each = now;
      if (each == 0) throw Refused("stream", format("call %d launched nothing on the stream that it was given", i));
      if (now != each * std::size_t(i + 1))
        throw Refused("stream", format("call %d launched another number of kernels than the first", i));
    }
    cudaGraph_t graph = nullptr;
    if (const cudaError_t ended = cudaStreamEndCapture(stream_, &graph); ended != cudaSuccess)
      throw Refused("stream", std::string("what it launched elsewhere is not waited for: ") + cudaGetErrorName(ended));
    cudaGraphExec_t made = nullptr;
    check_cuda(cudaGraphInstantiate(&made, graph, 0), "cudaGraphInstantiate");
    const std::shared_ptr<CUgraphExec_st> exec(made, cudaGraphExecDestroy);
    check_cuda(cudaGraphDestroy(graph), "cudaGraphDestroy");
    check_cuda(cudaGraphUpload(made, stream_), "cudaGraphUpload");
    check_cuda(cudaStreamSynchronize(stream_), "cudaGraphUpload");
    return [=, this] {
      return watch_.time(stream_, [&] { check_cuda(cudaGraphLaunch(exec.get(), stream_), "cudaGraphLaunch"); }) / calls;
    };
  }

  std::string settings_changed() override {
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
using Machine = Gpu;

#else

class Cpu final : public Device {
 public:
  Cpu() {
    ExecOptions options = exec_options();
    options.check = can_check();  // races, and what lies outside of what was asked for
    set_exec_options(options);
  }
  // Of its own, so that a launch elsewhere is seen; on the CPU it is a name and nothing else.
  cudaStream_t stream() override {
    static char name;
    return reinterpret_cast<cudaStream_t>(&name);
  }
  bool has_clock() const override { return false; }
  void fill(half* to, std::size_t size, std::uint64_t seed, float factor, float offset) override {
    const Inputs in = make_inputs(Family::unit, {1, 1, int(size / 64), 64, false}, seed);
    fp16* out = reinterpret_cast<fp16*>(to);
    for (std::size_t i = 0; i < size; ++i) out[i] = to_fp16(to_float(in.q[i]) * factor + offset);
  }
  std::uint64_t digest(const half* tensor, std::size_t size) override {
    std::uint64_t hash = FNV_START;
    for (std::size_t i = 0; i < size; ++i) hash = fnv1a(hash, reinterpret_cast<const fp16*>(tensor)[i].bits);
    return hash;
  }

  Batch gather(int calls, const std::function<void(int)>& call) override {
    return [=, this]() -> std::optional<double> {
      std::uint64_t each = 0;
      for (int i = 0; i < calls; ++i) {
        const std::uint64_t here = cpu::launches_on(stream()), all = cpu::launches();
        call(i);
        const std::uint64_t own = cpu::launches_on(stream()) - here, elsewhere = cpu::launches() - all - own;
        if (own == 0 || elsewhere != 0)
          throw Refused("stream",
                        format("call %d launched %llu kernels on the stream that it was given, %llu elsewhere", i,
                               (unsigned long long)own, (unsigned long long)elsewhere));
        if (i == 0) each = own;
        if (own != each)
          throw Refused("stream", format("call %d launched another number of kernels than the first", i));
      }
      return std::nullopt;
    };
  }

  std::string settings_changed() override {
    std::size_t persisting = 0;
    cudaDeviceGetLimit(&persisting, cudaLimitPersistingL2CacheSize);
    return persisting == 0 ? "" : format("it has set %zu bytes of the L2 aside to persist", persisting);
  }
};
using Machine = Cpu;

#endif

}  // namespace

std::unique_ptr<Device> make_device() { return std::make_unique<Machine>(); }

}  // namespace lab::search
