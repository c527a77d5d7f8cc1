#include "checks/acceptance/subject.hpp"

#include <cstdio>
#include <sstream>
#include <stdexcept>

#include "checks/acceptance/cases.hpp"
#include "checks/acceptance/launch.hpp"
#include "checks/acceptance/sampling.hpp"
#include "checks/runner/library.hpp"
#include "common/attention_backward.hpp"
#include "common/gpu_access.hpp"
#include "common/number.hpp"
#include "reference/bad_input.hpp"

namespace lab {
namespace {

template <class Function>
Function* exported(const char* name) {
  return reinterpret_cast<Function*>(library_symbol(name));
}

template <bool BACKWARD>
std::size_t workspace(const Shape& s) {
  static const auto bytes = exported<decltype(::attention_workspace)>(BACKWARD ? "attention_backward_workspace"  //
                                                                               : "attention_workspace");
  return bytes ? bytes(s.B, s.H, s.S, s.D, s.causal) : 0;
}

cudaError_t launch_forward(const Call& c) {
  static const auto attention = exported<decltype(::attention)>("attention");
  const Shape& s = c.shape;
  return attention(c.in[0], c.in[1], c.in[2], c.out[0], s.B, s.H, s.S, s.D, c.scale, s.causal, c.workspace, c.stream);
}

// A whole call, or the gradients alone.
template <bool WHOLE>
cudaError_t launch_backward(const Call& c) {
  static const auto backward =
      exported<decltype(::attention_backward)>(WHOLE ? "attention_backward" : "attention_backward_gradients");
  const Shape& s = c.shape;
  return backward(c.in[0], c.in[1], c.in[2], c.in[3], c.out[0], c.out[1], c.out[2], s.B, s.H, s.S, s.D, c.scale,
                  s.causal, c.workspace, c.stream);
}

Subject made() {
  const bool half_p = stage_says("half_p") == "yes";
  if (!library_symbol("attention_backward"))
    return {false, {"q", "k", "v"}, {"out"}, launch_forward, workspace<false>, half_p};
  const std::string claim = stage_says("same_bits");
  if (claim != "yes" && claim != "no") throw BadInput("stage.conf: same_bits=" + claim + ": must be yes or no");
  const std::string together = stage_says("together"), tile = stage_says("tile");
  const auto blocks = number_in<int>(together.empty() ? "1" : together);
  if (!blocks || *blocks < 1) throw BadInput("stage.conf: together=" + together + ": must be a whole number from 1");
  Subject made{true,
               {"q", "k", "v", "dout"},
               {"dq", "dk", "dv"},
               launch_backward<true>,
               workspace<true>,
               half_p,
               claim == "yes",
               *blocks};
  if (std::sscanf(tile.c_str(), "%dx%d", &made.tile_m, &made.tile_n) != 2)
    throw BadInput("stage.conf: tile=" + tile + ": must be query rows x keys");
  if (library_symbol("attention_backward_gradients")) made.gradients = launch_backward<false>;
  return made;
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

LaunchPlan plan_of(const Shape& shape) {
  const std::vector<Launched> launched = launches_of(subject(), shape, exec_options().multiprocessors);
  if (launched.empty()) throw std::invalid_argument(std::string(stage_name()) + " does not launch " + text(shape));
  const Launched& l = launched[0];
  const unsigned parts = l.cluster.x;
  LaunchPlan plan{.kernel = kernel_name(l.kernel),
                  .grid = dim3(l.grid.x / parts, l.grid.y, l.grid.z),
                  .block = l.block,
                  .parts = parts,
                  .smem = l.dynamic_smem};
  std::erase(plan.kernel, ' ');
  // tiles="<64,2> 64x64 16 2; <128> ...": for an instance of the kernel query rows x keys, query rows of a warp, slots.
  std::istringstream list(stage_says("tiles"));
  for (std::string entry; std::getline(list, entry, ';');) {
    char name[32];
    if (std::sscanf(entry.c_str(), " %31s %dx%d %d %d", name, &plan.tile_m, &plan.tile_n, &plan.rows_per_warp,
                    &plan.slots) == 5 &&
        plan.kernel.ends_with(name))
      break;
  }
  return plan;
}

}  // namespace lab
