// A launch of the stage at hand on seeded inputs, for whoever looks at what a kernel does beside what it should compute.
#pragma once
#include <string>
#include <vector>

#include "checks/acceptance/launch.hpp"
#include "checks/acceptance/problem.hpp"
#include "common/backend.hpp"
#include "common/fp16.hpp"
#include "reference/attention.hpp"
#include "reference/inputs.hpp"

namespace lab {

struct Trial : Ran {
  Family family{};
  std::uint64_t seed = 1;
  Inputs in;
  std::string title() const;  // "unit inputs, (1,8,512,64), seed 1"
  // The right answer, computed when it is first asked for; of the forward pass at the bound that holds for wrong answers too.
  const std::vector<Expected>& right() const;
  operator Operands() const { return {shape, scale, in.q, in.k, in.v}; }

 private:
  mutable std::vector<Expected> right_;
};
std::string state(const Trial& trial);  // " (ERROR: MESSAGE)"; "" if it went well
// `scale` multiplies the scores, 0 stands for default_scale(D). `seconds`: how long a GPU may take, 0 stands for
// hang_seconds(shape).
Trial run_trial(const Shape& shape, Family family = Family::unit, const ExecOptions& options = {},
                std::uint64_t seed = 1, double scale = 0, double seconds = 0);
// The same on inputs of the caller's own. `family` and `seed` are for the title.
Trial run_trial(const Shape& shape, Inputs in, float scale, Launching how, Family family, std::uint64_t seed = 1);

}  // namespace lab
