// Trials of the forward pass.
#include <utility>

#include "checks/bugs/trial.hpp"
#include "reference/attention.hpp"

namespace lab {

Trial run_trial(const Shape& shape, Family family, const ExecOptions& options, std::uint64_t seed, double scale,
                double seconds) {
  return run_trial(shape, make_inputs(family, shape, seed), float(scale != 0 ? scale : default_scale(shape.D)), options,
                   family, seed, seconds);
}

Trial run_trial(const Shape& shape, Inputs in, float scale, const ExecOptions& options, Family family,
                std::uint64_t seed, double seconds, fp16 poison) {
  return run_trial(forward_subject(), shape, std::move(in), scale,
                   {.options = options, .seconds = seconds, .poison = poison}, family, seed);
}

}  // namespace lab
