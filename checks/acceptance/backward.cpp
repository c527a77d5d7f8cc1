// The backward pass as a subject.
#include "checks/acceptance/subject.hpp"
#include "common/backward.hpp"
#include "reference/bad_input.hpp"

namespace lab {
namespace {

// The forward pass that a stage starts from is part of a call.
cudaError_t launch(const Call& c) {
  const BackwardStageInfo& stage = backward_stage();
  const BackwardArgs args{c.in[0],  c.in[1],  c.in[2],  c.in[3], c.out[0],
                          c.out[1], c.out[2], static_cast<float*>(c.workspace), c.shape, c.scale, c.stream};
  const cudaError_t saved = stage.save_forward ? stage.save_forward(args) : cudaSuccess;
  return saved == cudaSuccess ? stage.launch(args) : saved;
}

}  // namespace

const Subject& backward_subject() {
  static const Subject subject = [] {
    const std::string claim = stage_says("same_bits");
    if (claim != "yes" && claim != "no") throw BadInput("stage.conf: same_bits=" + claim + ": must be yes or no");
    return Subject{true,
                   {"q", "k", "v", "dout"},
                   {"dq", "dk", "dv"},
                   launch,
                   [](const Shape& shape) { return backward_stage().workspace(shape) * sizeof(float); },
                   stage_says("half_p") == "yes",
                   false,
                   claim == "yes"};
  }();
  return subject;
}

}  // namespace lab
