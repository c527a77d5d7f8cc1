#include "checks/bugs/trial.hpp"

#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "checks/acceptance/device_tensors.hpp"
#include "checks/acceptance/report.hpp"
#include "checks/bugs/hang.hpp"
#include "common/gpu_access.hpp"
#include "reference/attention.hpp"

namespace lab {

std::string Trial::title() const {
  return std::string(name(family)) + " inputs, " + text(shape) + ", seed " + std::to_string(seed);
}

Trial run_trial(const Shape& shape, Family family, const ExecOptions& options, std::uint64_t seed, double scale,
                double seconds) {
  return run_trial(shape, make_inputs(family, shape, seed), float(scale != 0 ? scale : default_scale(shape.D)), options,
                   family, seed, seconds);
}

Trial run_trial(const Shape& shape, Inputs in, float scale, const ExecOptions& options, Family family,
                std::uint64_t seed, double seconds) {
  Trial t;
  t.shape = shape, t.family = family, t.seed = seed;
  t.in = std::move(in);
  t.plan = stage().plan(shape);
  t.scale = scale;
  set_exec_options(options);
  // A checked run sees every byte past a buffer's end, so it wants no canaries there.
  const bool canaries = !options.check;
  const ExclusiveGpu exclusive;  // copies to and from the GPU included: they too are work of a process
  const DeviceTensor q(t.in.q, canaries), k(t.in.k, canaries), v(t.in.v, canaries);
  DeviceTensor out(shape.elements(), canaries);
  out.poison();
  poison_shared_memory();
  take_exec_report();
  t.launched = stage().launch({q.data(), k.data(), v.data(), out.data(), shape, t.scale, nullptr});
  cudaGetLastError();
  const double limit = seconds > 0 ? seconds : hang_seconds(shape);
  t.finished = synchronize_within(limit);
  if (t.finished == cudaErrorNotReady) {
    std::printf("%s: the kernel still runs after %.1f s\n", t.title().c_str(), limit);
    std::fflush(stdout);
    std::_Exit(HUNG);
  }
  ExecReport report = take_exec_report();
  t.message = report.message;
  t.findings = std::move(report.findings);
  t.report = std::move(report);
  set_exec_options({});
  if (t.finished != cudaSuccess && std::string_view(backend_name()) == "gpu") {
    t.out.assign(shape.elements(), FP16_NAN);  // the context is lost, and the output with it
    return t;
  }
  t.out = out.download();
  return t;
}

}  // namespace lab
