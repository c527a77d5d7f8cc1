#include "checks/backward/trial.hpp"

#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "checks/acceptance/fault.hpp"
#include "checks/acceptance/format.hpp"
#include "checks/acceptance/poisoned.hpp"
#include "checks/bugs/hang.hpp"
#include "common/gpu_access.hpp"

namespace lab {
namespace {

// All launches of a call of the stage.
cudaError_t launch_all(const BackwardArgs& args) {
  const BackwardStageInfo& stage = backward_stage();
  cudaError_t error = stage.save_forward ? stage.save_forward(args) : cudaSuccess;
  if (error == cudaSuccess) error = stage.launch(args);
  return error == cudaSuccess ? cudaGetLastError() : error;
}

}  // namespace

BackwardTensors::BackwardTensors(const Shape& shape, float scale, const BackwardInputs& in, bool canaries)
    : shape_(shape),
      scale_(scale),
      in_(in),
      q_(in.q, canaries),
      k_(in.k, canaries),
      v_(in.v, canaries),
      dout_(in.dout, canaries),
      dq_(shape.elements(), canaries),
      dk_(shape.elements(), canaries),
      dv_(shape.elements(), canaries),
      workspace_(backward_stage().workspace(shape) * (sizeof(float) / sizeof(half)), canaries) {}

cudaError_t BackwardTensors::launch(cudaStream_t stream) const {
  return launch_all({q_.data(), k_.data(), v_.data(), dout_.data(), dq_.data(), dk_.data(), dv_.data(),
                     reinterpret_cast<float*>(workspace_.data()), shape_, scale_, stream});
}

void BackwardTensors::poison() { dq_.poison(), dk_.poison(), dv_.poison(), workspace_.poison(); }

void BackwardTensors::fetch(BackwardTrial& t) const {
  std::string damage;
  const auto fetch = [&](const char* name, const DeviceTensor& from, std::vector<fp16>& to) {
    to = from.download(damage);
    if (!damage.empty()) t.stray.push_back(format("wrote outside %s, %s", name, damage.c_str()));
  };
  fetch("dq", dq_, t.dq), fetch("dk", dk_, t.dk), fetch("dv", dv_, t.dv);
  std::vector<Fault> faults;
  check_input("q", q_, in_.q, faults), check_input("k", k_, in_.k, faults), check_input("v", v_, in_.v, faults);
  check_input("dout", dout_, in_.dout, faults);
  for (const Fault& fault : faults) t.stray.push_back(fault.what);
  workspace_.download(damage);
  if (!damage.empty()) t.stray.push_back("wrote outside the workspace, " + damage);
}

std::string BackwardTrial::error() const {
  if (ok()) return "";
  return format("%s: %s%s%s", launched != cudaSuccess ? "launch refused" : "kernel failed", error_name(),
                message.empty() ? "" : ": ", message.c_str());
}

BackwardTrial run_backward(const Shape& shape, float scale, const BackwardInputs& in, ExecOptions options) {
  BackwardTrial t;
  t.shape = shape, t.scale = scale;
  options.workers = 1;
  set_exec_options(options);
  ExclusiveGpu exclusive;
  BackwardTensors tensors(shape, scale, in, !options.check);
  if (!options.blocks.empty()) tensors.clear_workspace();  // blocks that do not run leave out what others wait for
  poison_shared_memory();
  cudaGetLastError();
  take_exec_report();
  t.launched = tensors.launch(test_stream());
  const double limit = BACKWARD_PRODUCTS * hang_seconds(shape);
  t.finished = exclusive.synchronize(limit);
  if (t.finished == cudaErrorNotReady) end_hung(std::string(backward_stage().name) + ": a kernel", limit);
  t.take(take_exec_report());
  set_exec_options({});
  for (std::vector<fp16>* gradient : {&t.dq, &t.dk, &t.dv}) gradient->assign(shape.elements(), FP16_NAN);
  if (!t.ok()) return t;
  tensors.fetch(t);
  if (const std::string elsewhere = launched_elsewhere(t.report, test_stream()); !elsewhere.empty())
    t.stray.push_back(elsewhere);
  return t;
}

std::string refusal(const Shape& shape) {
  const std::size_t size = shape.elements();
  const Buffer<half> q(size), k(size), v(size), dout(size), dq(size), dk(size), dv(size);
  const Buffer<float> workspace(backward_stage().workspace(shape));
  ExecOptions options;
  options.blocks = {0};
  set_exec_options(options);
  take_exec_report();
  BackwardTrial t;
  t.launched = launch_all({q.data(), k.data(), v.data(), dout.data(), dq.data(), dk.data(), dv.data(), workspace.data(),
                           shape, 1.0f, test_stream()});
  t.finished = cudaDeviceSynchronize();
  t.message = take_exec_report().message;
  set_exec_options({});
  return t.error();
}

std::vector<NamedGradient> gradients_of(const BackwardTrial& trial, const ExpectedBackward& expected) {
  return {{"dq", trial.dq, expected.dq}, {"dk", trial.dk, expected.dk}, {"dv", trial.dv, expected.dv}};
}

Judged judge(const BackwardTrial& trial, const ExpectedBackward& expected) {
  Judged j;
  double worst_outside = -1;
  for (const auto& [name, got, right] : gradients_of(trial, expected))
    for (std::size_t i = 0; i < got.size(); ++i) {
      const float x = to_float(got[i]);
      const double value = right.value[i], allowed = right.allowed[i];
      ++j.compared, j.nans += std::isnan(x), j.poison += got[i] == FP16_NAN;
      const double diff = std::abs(double(x) - value);
      if (std::isfinite(value) && std::isfinite(x)) {
        j.max_diff = std::max(j.max_diff, diff);
        j.worst_ratio = std::max(j.worst_ratio, diff / allowed);
      }
      if (is_right(right, i, x)) continue;
      ++j.outside;
      const double ratio = std::isfinite(diff) ? diff / allowed : INFINITY;
      if (ratio <= worst_outside) continue;
      worst_outside = ratio;
      j.worst_of_all = format("%s %s: got %s, expected %.6g, allowed +-%.3g", name, place_of(trial.shape, i).c_str(),
                              number(x).c_str(), value, allowed);
    }
  return j;
}

}  // namespace lab
