#include "checks/backward/trial.hpp"

#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "checks/acceptance/device_tensors.hpp"
#include "checks/acceptance/format.hpp"
#include "checks/acceptance/poisoned.hpp"
#include "checks/bugs/hang.hpp"
#include "common/gpu_access.hpp"

namespace lab {
namespace {

// Seven products of the forward pass's size, on a GPU.
constexpr double PRODUCTS = 7;

// All launches of a call of the stage.
cudaError_t launch_all(const BackwardArgs& args) {
  const BackwardStageInfo& stage = backward_stage();
  cudaError_t error = stage.save_forward ? stage.save_forward(args) : cudaSuccess;
  if (error == cudaSuccess) error = stage.launch(args);
  return error == cudaSuccess ? cudaGetLastError() : error;
}

}  // namespace

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
  const bool canaries = !options.check;  // a checked run sees every byte past a buffer's end
  ExclusiveGpu exclusive;
  const DeviceTensor q(in.q, canaries), k(in.k, canaries), v(in.v, canaries), dout(in.dout, canaries);
  DeviceTensor dq(shape.elements(), canaries), dk(shape.elements(), canaries), dv(shape.elements(), canaries);
  DeviceTensor workspace(backward_stage().workspace(shape) * (sizeof(float) / sizeof(half)), canaries);
  if (!options.blocks.empty()) workspace.poison({0});  // blocks that do not run leave out what others wait for
  poison_shared_memory();
  cudaGetLastError();
  take_exec_report();
  const BackwardArgs args{q.data(),  k.data(),  v.data(),  dout.data(),
                          dq.data(), dk.data(), dv.data(), reinterpret_cast<float*>(workspace.data()),
                          shape,     scale,     nullptr};
  t.launched = launch_all(args);
  const double limit = PRODUCTS * hang_seconds(shape);
  t.finished = exclusive.synchronize(limit);
  if (t.finished == cudaErrorNotReady) end_hung(std::string(backward_stage().name) + ": a kernel", limit);
  t.take(take_exec_report());
  set_exec_options({});
  for (std::vector<fp16>* gradient : {&t.dq, &t.dk, &t.dv}) gradient->assign(shape.elements(), FP16_NAN);
  if (!t.ok()) return t;

  std::string damage;
  const auto fetch = [&](const char* name, const DeviceTensor& from, std::vector<fp16>& to) {
    to = from.download(damage);
    if (!damage.empty()) t.stray.push_back(format("wrote outside %s, %s", name, damage.c_str()));
  };
  fetch("dq", dq, t.dq), fetch("dk", dk, t.dk), fetch("dv", dv, t.dv);
  std::vector<Fault> faults;
  check_input("q", q, in.q, faults), check_input("k", k, in.k, faults), check_input("v", v, in.v, faults);
  check_input("dout", dout, in.dout, faults);
  for (const Fault& fault : faults) t.stray.push_back(fault.what);
  workspace.download(damage);
  if (!damage.empty()) t.stray.push_back("wrote outside the workspace, " + damage);
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
                           shape, 1.0f, nullptr});
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
