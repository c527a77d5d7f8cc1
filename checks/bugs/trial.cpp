#include "checks/bugs/trial.hpp"

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "checks/acceptance/poisoned.hpp"
#include "checks/acceptance/report.hpp"
#include "checks/bugs/hang.hpp"
#include "common/gpu_access.hpp"
#include "reference/attention.hpp"

namespace lab {

void Observed::take(ExecReport seen) {
  message = seen.message, findings = std::move(seen.findings);
  report = std::move(seen);
}

void end_hung(const std::string& what, double seconds) {
  std::printf("%s still runs after %.1f s\n", what.c_str(), seconds);
  std::fflush(stdout);
  std::_Exit(HUNG);
}

std::string Trial::title() const {
  return std::string(name(family)) + " inputs, " + text(shape) + ", seed " + std::to_string(seed);
}

Trial run_trial(const Shape& shape, Family family, const ExecOptions& options, std::uint64_t seed, double scale,
                double seconds) {
  return run_trial(shape, make_inputs(family, shape, seed), float(scale != 0 ? scale : default_scale(shape.D)), options,
                   family, seed, seconds);
}

Trial run_trial(const Shape& shape, Inputs in, float scale, const ExecOptions& options, Family family,
                std::uint64_t seed, double seconds, fp16 poison) {
  Trial t;
  t.shape = shape, t.family = family, t.seed = seed;
  t.in = std::move(in);
  t.scale = scale;
  set_exec_options(options);  // the plan counts multiprocessors as the launch does
  t.plan = stage().plan(shape);
  const double limit = seconds > 0 ? seconds : hang_seconds(shape);
  Poisoned tensors(t.in, !options.check);
  Ran ran = tensors.launch(shape, scale, {options, limit, false, poison});
  if (ran.still_runs()) end_hung(t.title() + ": the kernel", limit);
  t.launched = ran.returned, t.finished = ran.finished, t.out = std::move(ran.out);
  t.take(std::move(ran.report));
  return t;
}

}  // namespace lab
