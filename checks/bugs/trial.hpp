// A launch of the stage at hand on seeded inputs, for whoever looks at what a kernel does beside what it should compute.
#pragma once
#include <string>
#include <vector>

#include "checks/acceptance/launch.hpp"
#include "common/backend.hpp"
#include "common/fp16.hpp"
#include "reference/attention.hpp"
#include "reference/inputs.hpp"

namespace lab {

struct Trial : Ran {
  Family family{};
  std::uint64_t seed = 1;
  Inputs in;
  std::vector<fp16> out;      // of the forward pass; poisoned before the launch
  std::string title() const;  // "unit inputs, (1,8,512,64), seed 1"
  operator Operands() const { return {shape, scale, in.q, in.k, in.v}; }
};
// `scale` multiplies the scores, 0 stands for default_scale(D). `seconds`: how long a GPU may take, 0 stands for
// hang_seconds(shape).
Trial run_trial(const Shape& shape, Family family = Family::unit, const ExecOptions& options = {},
                std::uint64_t seed = 1, double scale = 0, double seconds = 0);
// The same on inputs of the caller's own. `family` and `seed` are for the title.
Trial run_trial(const Shape& shape, Inputs in, float scale, Launching how, Family family, std::uint64_t seed = 1);

}  // namespace lab
