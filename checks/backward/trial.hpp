// One call of the linked backward stage, with everything that can be observed of it.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "checks/acceptance/comparison.hpp"
#include "checks/acceptance/device_tensors.hpp"
#include "checks/backward/expected.hpp"
#include "checks/bugs/trial.hpp"
#include "common/backward.hpp"

namespace lab {

struct BackwardTrial : Observed {
  std::vector<fp16> dq, dk, dv;    // poisoned with FP16_NAN before the launch
  std::vector<std::string> stray;  // "wrote outside dk, 3 elements past its end", "changed its input q"
  std::string error() const;       // "" if ok()
  bool same_bits(const BackwardTrial& other) const { return dq == other.dq && dk == other.dk && dv == other.dv; }
};

// Products of the forward pass's size, on a GPU: for the time that a launch may take.
inline constexpr double BACKWARD_PRODUCTS = 7;

// Device memory for the linked stage: inputs, gradients and workspace, with canaries unless a checker is to see every
// byte past a buffer's end.
class BackwardTensors {
 public:
  BackwardTensors(const Shape& shape, float scale, const BackwardInputs& in, bool canaries);
  cudaError_t launch(cudaStream_t stream) const;  // all launches of a call
  void poison();                                  // the gradients and the workspace
  void clear_workspace() { workspace_.poison({0}); }
  // Adds what lies outside of the gradients' and the workspace's bounds, and which inputs have changed.
  void fetch(BackwardTrial& to) const;

 private:
  Shape shape_;
  float scale_;
  const BackwardInputs& in_;
  DeviceTensor q_, k_, v_, dout_, dq_, dk_, dv_, workspace_;
};

// The workspace is poisoned too. Blocks run one at a time, whatever `options` says of workers: with several the order of
// atomic sums would be the operating system's.
BackwardTrial run_backward(const Shape& shape, float scale, const BackwardInputs& in, ExecOptions options = {});

// "" where all launches that the stage makes for `shape` are allowed, else why not. On the CPU the first block of each
// runs, on zeros, and memory that it does not touch costs nothing.
std::string refusal(const Shape& shape);

struct NamedGradient {
  const char* name;
  const std::vector<fp16>& got;
  const ExpectedGradient& expected;
};
std::vector<NamedGradient> gradients_of(const BackwardTrial& trial, const ExpectedBackward& expected);

// All elements of the three; `max_diff` and `worst_ratio` are of finite references.
struct Judged : Comparison {
  std::string worst_of_all;  // of those outside: "dk (b,h,row,col) = (0,1,2,3): got 1, expected 2, allowed +-0.1"
};
Judged judge(const BackwardTrial& trial, const ExpectedBackward& expected);

}  // namespace lab
