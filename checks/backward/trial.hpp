// One call of the linked backward stage, with everything that can be observed of it.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "checks/acceptance/comparison.hpp"
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
