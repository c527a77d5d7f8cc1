// The referee of the elite loop: what a candidate must stand before one of its times counts. writeups/safeguards.md
// says why each rule is there.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "checks/evolve/device.hpp"
#include "common/stage.hpp"

namespace lab::evolve {

struct Plan {
  int calls = 16;    // timed together, each with inputs of its own
  int rounds = 9;    // of new inputs at new addresses
  int sampled = 64;  // rows of each timed call that the oracle computes
  std::uint64_t seed = 1;
};
// How many calls and rounds are good for a shape on this device.
Plan plan_for(const Shape& shape, Device& device);

struct Judged {
  std::vector<double> us;  // a call, one figure a round; empty without a clock
  std::size_t calls_checked = 0, rows_checked = 0;
  double largest_part = 0;  // of the allowed error
};

// No attention of this shape takes less time on any GPU that the lab knows.
double floor_us(const Shape& shape);

// Throws Refused.
Judged judge(Device& device, const StageInfo& candidate, const Shape& shape, const Plan& plan);

}  // namespace lab::evolve
