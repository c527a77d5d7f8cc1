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

// The library's exports (common/backward.hpp).
[[gnu::used]] inline cudaError_t attention_backward(const half* q, const half* k, const half* v, const half* dout,
                                                    half* dq, half* dk, half* dv, int B, int H, int S, int D,
                                                    float scale, int causal, void* workspace, cudaStream_t stream) {
  const lab::BackwardStageInfo& stage = lab::backward_stage();
  const lab::BackwardArgs args{
      q, k, v, dout, dq, dk, dv, static_cast<float*>(workspace), {B, H, S, D, causal != 0}, scale, stream};
  const cudaError_t saved = stage.save_forward ? stage.save_forward(args) : cudaSuccess;
  return saved == cudaSuccess ? stage.launch(args) : saved;
}
[[gnu::used]] inline std::size_t attention_backward_workspace(int B, int H, int S, int D, int causal) {
  return lab::backward_stage().workspace({B, H, S, D, causal != 0}) * sizeof(float);
}
[[gnu::used]] inline const lab::BackwardStageInfo& lab_backward_stage() { return lab::backward_stage(); }
