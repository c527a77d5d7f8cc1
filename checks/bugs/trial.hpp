// A launch of the linked stage, for whoever looks at what a kernel does beside what it should compute.
#pragma once
#include <string>
#include <vector>

#include "common/backend.hpp"
#include "common/fp16.hpp"
#include "common/stage.hpp"
#include "reference/inputs.hpp"

namespace lab {

// A launch of either pass: all that can be observed beside its output.
struct Observed {
  Shape shape;
  float scale = 0;
  cudaError_t launched{}, finished{};
  std::string message;            // of a refused launch or a failed kernel
  std::vector<Finding> findings;  // with ExecOptions::check
  ExecReport report;              // less its findings
  bool ok() const { return launched == cudaSuccess && finished == cudaSuccess; }
  const char* error_name() const { return cudaGetErrorName(launched != cudaSuccess ? launched : finished); }
  void take(ExecReport seen);
};
// A launch on a GPU has not ended in time: says so and ends this process, which alone frees the GPU.
[[noreturn]] void end_hung(const std::string& what, double seconds);

// One launch on seeded inputs.
struct Trial : Observed {
  Family family{};
  std::uint64_t seed = 1;
  Inputs in;
  LaunchPlan plan;
  std::vector<fp16> out;      // poisoned before the launch
  std::string title() const;  // "unit inputs, (1,8,512,64), seed 1"
};
// `scale` multiplies the scores, 0 stands for default_scale(D). `seconds`: how long a GPU may take, 0 stands for
// hang_seconds(shape).
Trial run_trial(const Shape& shape, Family family = Family::unit, const ExecOptions& options = {},
                std::uint64_t seed = 1, double scale = 0, double seconds = 0);
// The same on inputs of the caller's own. `family` and `seed` are for the title.
Trial run_trial(const Shape& shape, Inputs in, float scale, const ExecOptions& options, Family family,
                std::uint64_t seed = 1, double seconds = 0, fp16 poison = FP16_NAN);

}  // namespace lab
