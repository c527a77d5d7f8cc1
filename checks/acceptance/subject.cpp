#include "checks/acceptance/subject.hpp"

#include "checks/runner/library.hpp"
#include "common/backward.hpp"
#include "common/gpu_access.hpp"
#include "common/number.hpp"
#include "common/stage.hpp"
#include "reference/bad_input.hpp"

namespace lab {
namespace {

template <bool BACKWARD>
std::size_t workspace(const Shape& shape) {
  static const auto bytes = reinterpret_cast<decltype(&::attention_workspace)>(
      library_symbol(BACKWARD ? "attention_backward_workspace" : "attention_workspace"));
  return bytes ? bytes(shape.B, shape.H, shape.S, shape.D, shape.causal) : 0;
}

cudaError_t launch_forward(const Call& c) {
  return stage().launch({c.in[0], c.in[1], c.in[2], c.out[0], c.shape, c.scale, c.stream, c.workspace});
}

cudaError_t launch_backward(const Call& c) {
  return backward_stage().launch({c.in[0], c.in[1], c.in[2], c.in[3], c.out[0], c.out[1], c.out[2],
                                  static_cast<float*>(c.workspace), c.shape, c.scale, c.stream});
}

Subject made() {
  const bool half_p = stage_says("half_p") == "yes";
  if (!library_symbol("attention_backward"))
    return {
        false, {"q", "k", "v"}, {"out"}, launch_forward, workspace<false>, half_p, stage_says("empty_tile") == "nan"};
  const std::string claim = stage_says("same_bits");
  if (claim != "yes" && claim != "no") throw BadInput("stage.conf: same_bits=" + claim + ": must be yes or no");
  const std::string together = stage_says("together");
  const auto blocks = number_in<int>(together.empty() ? "1" : together);
  if (!blocks || *blocks < 1) throw BadInput("stage.conf: together=" + together + ": must be a whole number from 1");
  return {true,
          {"q", "k", "v", "dout"},
          {"dq", "dk", "dv"},
          launch_backward,
          workspace<true>,
          half_p,
          false,
          claim == "yes",
          *blocks};
}

}  // namespace

const Subject& subject() {
  static const Subject subject = made();
  return subject;
}

double Subject::seconds(const Shape& shape) const {
  constexpr double BACKWARD_PRODUCTS = 7;
  return (backward ? BACKWARD_PRODUCTS : 1) * hang_seconds(shape);
}

}  // namespace lab
