// The validator's machine is a GPU: a graph of the calls is captured, and replayed between two events.
#include "checks/search/validator.hpp"

#include <algorithm>
#include <cmath>

#include "checks/acceptance/format.hpp"
#include "checks/acceptance/tolerance.hpp"
#include "checks/bench/gpu/device.hpp"
#include "checks/bench/gpu/stopwatch.hpp"
#include "checks/search/gpu/kernels.hpp"

namespace lab::search {
namespace {

template <class T>
std::vector<T> fetched(const Buffer<T>& from) {
  std::vector<T> host(from.bytes() / sizeof(T));
  check_cuda(cudaMemcpy(host.data(), from.data(), from.bytes(), cudaMemcpyDeviceToHost), "cudaMemcpy to host");
  return host;
}

class GraphBatch final : public Batch {
 public:
  GraphBatch(cudaGraph_t graph, int calls, gpu::Stopwatch& watch, cudaStream_t stream)
      : calls_(calls), watch_(watch), stream_(stream) {
    check_cuda(cudaGraphInstantiate(&exec_, graph, 0), "cudaGraphInstantiate");
    check_cuda(cudaGraphDestroy(graph), "cudaGraphDestroy");
    check_cuda(cudaGraphUpload(exec_, stream_), "cudaGraphUpload");
    check_cuda(cudaStreamSynchronize(stream_), "cudaGraphUpload");
  }
  ~GraphBatch() override { cudaGraphExecDestroy(exec_); }
  std::optional<double> run() override {
    return watch_.time(stream_, [&] { check_cuda(cudaGraphLaunch(exec_, stream_), "cudaGraphLaunch"); }) / calls_;
  }

 private:
  cudaGraphExec_t exec_ = nullptr;
  int calls_;
  gpu::Stopwatch& watch_;
  cudaStream_t stream_;
};

class Gpu final : public Device {
 public:
  Gpu() { check_cuda(cudaDeviceGetLimit(&persisting_, cudaLimitPersistingL2CacheSize), "cudaDeviceGetLimit"); }
  cudaStream_t stream() override { return stream_; }
  bool has_clock() const override { return true; }

  void fill(half* to, std::size_t size, std::uint64_t seed, float factor, float offset) override {
    gpu::fill_normal(to, size, seed, stream_, factor, offset);
  }

  std::vector<std::uint64_t> digests(const std::vector<const half*>& tensors, std::size_t size) override {
    const Buffer<std::uint64_t> sums(tensors.size());
    check_cuda(cudaMemsetAsync(sums.data(), 0, sums.bytes(), stream_), "cudaMemset");
    for (std::size_t i = 0; i < tensors.size(); ++i) add_digest(tensors[i], size, sums.data() + i, stream_);
    check_cuda(cudaStreamSynchronize(stream_), "a digest");
    return fetched(sums);
  }

  Expected oracle(const Shape& shape, double scale, const half* q, const half* k, const half* v,
                  const std::vector<RowBlock>& chosen, bool half_p) override {
    std::vector<OracleRow> list;
    for (const RowBlock& block : chosen)
      for (int i = 0; i < block.rows; ++i) list.push_back({block.head, block.first + i});
    const std::size_t rows = list.size(), D = std::size_t(shape.D), heads = std::size_t(shape.B * shape.H);
    const Buffer<OracleRow> which(rows);
    const Buffer<double> scores(rows * std::size_t(shape.S)), out(rows * D), mean(rows * D), q_norm(rows),
        k_norm(heads), v_max(heads);
    check_cuda(cudaMemcpy(which.data(), list.data(), which.bytes(), cudaMemcpyHostToDevice), "cudaMemcpy to device");
    head_norms(k, v, int(heads), shape.S, shape.D, k_norm.data(), v_max.data(), stream_);
    oracle_rows(q, k, v, which.data(), int(rows), shape.S, shape.D, shape.causal, scale, scores.data(), out.data(),
                mean.data(), q_norm.data(), stream_);
    check_cuda(cudaGetLastError(), "the oracle");
    check_cuda(cudaStreamSynchronize(stream_), "the oracle");
    Expected right{fetched(out), fetched(mean), {}};  // the mean of |v| becomes the bound, element by element
    const std::vector<double> queries = fetched(q_norm), longest_keys = fetched(k_norm), largest = fetched(v_max);
    for (std::size_t r = 0; r < rows; ++r) {
      const std::size_t head = std::size_t(list[r].head);
      const RowError error =
          row_error(shape.D, visible_keys(shape, list[r].row), scale * queries[r] * longest_keys[head], half_p);
      for (std::size_t i = r * D; i < (r + 1) * D; ++i)
        right.allowed[i] = allowed_error(error, std::abs(right.value[i]), right.allowed[i], largest[head]);
    }
    return right;
  }

  std::unique_ptr<Batch> gather(int calls, const std::function<void(int)>& call) override {
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
    return std::make_unique<GraphBatch>(graph, calls, watch_, stream_);
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

}  // namespace

std::unique_ptr<Device> make_device() { return std::make_unique<Gpu>(); }

}  // namespace lab::search
