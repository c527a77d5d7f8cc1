// The checks that a candidate must pass before one of its times counts. Six guards: oracle, memory, determinism, stream, settings,
// roofline; writeups/extending.md says why each is there.
#pragma once
#include <optional>
#include <vector>

#include "checks/acceptance/subject.hpp"
#include "checks/search/device.hpp"

namespace lab::search {

struct Plan {
  int calls = 16;       // timed together, each with inputs of its own
  int rounds = 9;       // of new inputs at new addresses
  int sampled = 16;     // rows of each timed call that the oracle computes
  int of_single = 256;  // rows of each single call
  std::uint64_t seed = 1;
  std::optional<double> us = {};  // what a clock says of a call, in the unit tests
};
// How many calls and rounds are good for a shape on this device.
Plan plan_for(const Shape& shape);

// No attention of this shape takes less time on any GPU that the lab knows.
double floor_us(const Shape& shape);

// How long a call took, one figure a round; empty without a clock. Throws Refused.
std::vector<double> validate(const Subject& candidate, const Shape& shape, const Plan& plan);

}  // namespace lab::search
