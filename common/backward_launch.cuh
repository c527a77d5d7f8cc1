// Shared by the launchers of the backward stages.
#pragma once
#include <string>

#include "common/backward.hpp"
#include "common/launch.cuh"

namespace lab {

// The stage's launcher for this head dimension; refused if there is none.
template <cudaError_t (*D64)(const BackwardArgs&), cudaError_t (*D128)(const BackwardArgs&)>
cudaError_t by_head_dim(const BackwardArgs& args) {
  if (args.shape.D == 64) return D64(args);
  if (args.shape.D == 128) return D128(args);
  set_launch_message(std::string(stage_name()) + " has no tile for D = " + std::to_string(args.shape.D));
  return cudaErrorInvalidValue;
}

}  // namespace lab
