#include "checks/acceptance/launch.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>

#include "checks/acceptance/format.hpp"
#include "common/gpu_access.hpp"

namespace lab {
namespace {

template <class T>
T* shifted(T* tensor, std::size_t elements) {  // no object lies there: not for pointer arithmetic
  return reinterpret_cast<T*>(reinterpret_cast<std::uintptr_t>(tensor) - elements * sizeof(half));
}

std::string error_text(cudaError_t error) {
  return format("%s (%s)", cudaGetErrorName(error), cudaGetErrorString(error));
}

}  // namespace

std::string Ran::not_taken() const {
  return launched == cudaErrorNotSupported ? "the kernel does not take it: " + message : "";
}

const char* Ran::error_name() const {
  return cudaGetErrorName(launched != cudaSuccess ? launched : last != cudaSuccess ? last : finished);
}

std::string Ran::error() const {
  if (ok()) return "";
  return format("%s: %s%s%s", launched != cudaSuccess || last != cudaSuccess ? "launch refused" : "kernel failed",
                error_name(), message.empty() ? "" : ": ", message.c_str());
}

std::vector<Fault> faults_of(const Ran& ran, std::size_t blocks) {
  const std::string message = ran.message.empty() ? "" : ": " + ran.message;
  std::vector<Fault> faults;
  if (ran.launched != cudaSuccess)
    faults.push_back({Evidence::failure, "launch refused: " + error_text(ran.launched) + message});
  else if (ran.last != cudaSuccess)
    faults.push_back(
        {Evidence::failure, "launch() returned success, but cudaGetLastError() " + error_text(ran.last) + message});
  else if (ran.finished != cudaSuccess)
    faults.push_back({Evidence::failure, "kernel failed: " + error_text(ran.finished) + message});
  else if (!message.empty())
    faults.push_back({Evidence::failure, "no error code, yet the backend says" + message});
  // The launch that a deadlock ends has said so.
  for (const Finding& finding : ran.findings)
    faults.push_back({Evidence::finding, finding.text, !faults.empty() && finding.kind == Finding::Kind::deadlock});
  if (ran.ok() && blocks && ran.report.blocks_run != blocks)
    faults.push_back({Evidence::failure, format("%llu blocks ran, not the %zu asked for",
                                                (unsigned long long)ran.report.blocks_run, blocks)});
  faults.insert(faults.end(), ran.strays.begin(), ran.strays.end());
  return faults;
}

Tensors::Tensors(const Subject& subject, const Inputs& in, bool canaries)
    : subject_(subject), originals_{&in.q, &in.k, &in.v}, canaries_(canaries) {
  if (subject.backward) originals_.push_back(&in.dout);
  for (const std::vector<fp16>* const input : originals_) inputs_.emplace_back(*input, canaries);
  for (std::size_t i = 0; i < subject.outputs.size(); ++i) outputs_.emplace_back(in.q.size(), canaries);
}

Call Tensors::call(const Shape& shape, float scale) {
  const std::size_t halves = (subject_.workspace(shape) + sizeof(half) - 1) / sizeof(half);
  if (halves == 0)
    workspace_.reset();
  else if (!workspace_ || workspace_->size() != halves)
    workspace_.emplace(halves, canaries_);
  Call call{{}, {}, shape, scale, test_stream(), workspace_ ? workspace_->data() : nullptr};
  const std::size_t before = shape.elements() - outputs_[0].size();
  for (std::size_t i = 0; i < inputs_.size(); ++i) call.in[i] = shifted(inputs_[i].data(), before);
  for (std::size_t i = 0; i < outputs_.size(); ++i) call.out[i] = shifted(outputs_[i].data(), before);
  return call;
}

void Tensors::poison_outputs() {
  for (DeviceTensor& output : outputs_) output.poison();
}

void Tensors::poison() {
  poison_outputs();
  if (workspace_) workspace_->poison();
}

Ran Tensors::launch(const Shape& shape, float scale, const Launching& how) {
  set_exec_options(how.options);
  ExclusiveGpu exclusive;
  Call call = this->call(shape, scale);
  poison();
  if (workspace_ && how.clear_workspace) workspace_->poison({0});
  cudaGetLastError();
  take_exec_report();
  poison_shared_memory();
  Ran ran;
  ran.shape = shape, ran.scale = scale;
  ran.launched = subject_.launch(call);
  ran.last = cudaGetLastError();
  ran.finished = exclusive.synchronize(how.seconds > 0 ? how.seconds : subject_.seconds(shape));
  if (ran.still_runs()) return ran;
  ran.report = take_exec_report();
  ran.message = ran.report.message, ran.findings = std::move(ran.report.findings);
  set_exec_options({});
  if (ran.finished != cudaSuccess && !can_schedule()) {  // a GPU's context is lost, and the outputs with it
    ran.outputs.assign(outputs_.size(), std::vector<fp16>(outputs_[0].size(), FP16_NAN));
    return ran;
  }
  std::vector<Fault> strays = fetch(ran.outputs);
  if (!ran.ok()) return ran;
  ran.strays = std::move(strays);
  const auto elsewhere =
      std::ranges::count_if(ran.report.launched, [&](const Launched& l) { return l.stream != call.stream; });
  if (elsewhere)
    ran.strays.push_back(
        {Evidence::failure, format("%td of %zu kernels were launched on another stream than the one given", elsewhere,
                                   ran.report.launched.size())});
  return ran;
}

std::vector<Fault> Tensors::fetch(std::vector<std::vector<fp16>>& outputs) const {
  std::vector<Fault> strays;
  std::string damage;
  const auto outside = [&](const std::string& what) {
    if (!damage.empty()) strays.push_back({Evidence::stray_write, "wrote outside " + what + ", " + damage});
  };
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    const std::span<const fp16> values = outputs_[i].fetch(damage);
    outputs.emplace_back(values.begin(), values.end()), outside(subject_.outputs[i]);
  }
  if (workspace_) workspace_->fetch(damage), outside("the workspace");
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const std::span<const fp16> values = inputs_[i].fetch(damage);
    const bool same = std::memcmp(values.data(), originals_[i]->data(), values.size_bytes()) == 0;
    outside("its input " + std::string(subject_.inputs[i]));
    if (!same) strays.push_back({Evidence::changed_input, format("changed its input %s", subject_.inputs[i])});
  }
  return strays;
}

// A launcher may clear what it gets: there is memory, but not for the addresses of a tensor past 2^32 elements.
Ran dry_run(const Subject& subject, const Shape& shape, float scale, int multiprocessors) {
  constexpr std::size_t MOST = std::size_t(1) << 27;
  static std::vector<Buffer<half>> tensor;
  static std::size_t size = 0;
  const std::size_t wanted = std::max(std::min(shape.elements(), MOST), (subject.workspace(shape) + 1) / sizeof(half));
  if (wanted > size) tensor.clear(), tensor.emplace_back(wanted), size = wanted;
  set_exec_options({.multiprocessors = multiprocessors, .dry = true});
  take_exec_report();
  Call call{{}, {}, shape, scale, test_stream(), tensor[0].data()};
  std::ranges::fill(call.in, tensor[0].data());
  std::ranges::fill(call.out, tensor[0].data());
  Ran ran;
  ran.launched = subject.launch(call), ran.last = cudaGetLastError();
  cudaDeviceSynchronize();
  ran.report = take_exec_report(), ran.message = ran.report.message;
  set_exec_options({});
  return ran;
}

std::vector<Launched> launches_of(const Subject& subject, const Shape& shape, int multiprocessors) {
  return dry_run(subject, shape, 1, multiprocessors).report.launched;
}

std::vector<std::string> scales_not_refused(const Subject& subject) {
  constexpr float INFINITE = std::numeric_limits<float>::infinity();
  std::vector<std::string> red;
  for (const int D : {64, 128})
    for (const float scale : {0.0f, -0.125f, INFINITE, -INFINITE, std::numeric_limits<float>::quiet_NaN()}) {
      const Ran ran = dry_run(subject, {1, 1, 64, D, false}, scale);
      const std::string head = format("D = %d, scale = %g: ", D, double(scale));
      if (ran.launched == cudaSuccess || !ran.report.launched.empty())
        red.push_back(head + "is not refused");
      else if (ran.message.empty())
        red.push_back(head + "is refused, and no line says why");
    }
  return red;
}

}  // namespace lab
