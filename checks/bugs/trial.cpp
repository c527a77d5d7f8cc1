#include "checks/bugs/trial.hpp"

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "checks/acceptance/cases.hpp"
#include "checks/bugs/hang.hpp"
#include "reference/attention.hpp"

namespace lab {

// A launch on a GPU that has not ended in time is said to be so, and ends this process, which alone frees the GPU.
[[noreturn]] static void end_hung(const std::string& what, double seconds) {
  std::printf("%s still runs after %.1f s\n", what.c_str(), seconds);
  std::fflush(stdout);
  std::_Exit(HUNG);
}

std::string Trial::title() const {
  return std::string(name(family)) + " inputs, " + text(shape) + ", seed " + std::to_string(seed);
}

const std::vector<Expected>& Trial::right() const {
  if (right_.empty() && subject().backward) right_ = oracle(subject(), {shape, scale, family, in});
  if (right_.empty()) right_ = {loosely(attention(*this), shape, scale, in, subject().half_p)};
  return right_;
}

std::string state(const Trial& t) {
  if (t.ok()) return "";
  return std::string(" (") + t.error_name() + ": " + t.message + ")";
}

Trial run_trial(const Shape& shape, Family family, const ExecOptions& options, std::uint64_t seed, double scale,
                double seconds) {
  return run_trial(shape, problem_of(subject(), {Group::ragged, shape, family, seed}).in,
                   float(scale != 0 ? scale : default_scale(shape.D)), {.options = options, .seconds = seconds}, family,
                   seed);
}

Trial run_trial(const Shape& shape, Inputs in, float scale, Launching how, Family family, std::uint64_t seed) {
  const Subject& subject = lab::subject();
  Trial t;
  // Blocks of a backward stage run one at a time: with several the order of atomic sums would be the operating system's.
  // Those that do not run leave out what others wait for.
  if (subject.backward) how.options.workers = 1, how.clear_workspace = !how.options.blocks.empty();
  Tensors tensors(subject, in, !how.options.check);
  static_cast<Ran&>(t) = tensors.launch(shape, scale, how);
  t.family = family, t.seed = seed, t.in = std::move(in);
  if (t.still_runs()) end_hung(t.title() + ": the kernel", how.seconds > 0 ? how.seconds : subject.seconds(shape));
  // A call of several launches that stopped has written nothing that means anything.
  if (subject.backward && !t.ok())
    t.outputs.assign(subject.outputs.size(), std::vector<fp16>(shape.elements(), FP16_NAN));
  return t;
}

}  // namespace lab
