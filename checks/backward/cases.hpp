// Which problems the backward acceptance poses.
#pragma once
#include <cstdint>
#include <vector>

#include "checks/acceptance/acceptance.hpp"

namespace lab {

// More heads than a grid may be high or deep. A GPU computes them all; on the CPU the launches are asked for alone.
inline constexpr Shape MANY_HEADS{2, 32768, 2, 64, true};

// How long a case takes, to compare.
double cost(const Case& c);

// In the order of the report. Without `full` the CPU runs the long shapes with a head each.
std::vector<Case> backward_cases(std::uint64_t seed, bool full);

// The `count` cheapest, cheapest first, and the one whose queries a stage may split: it is not as cheap.
std::vector<Case> cheapest_cases(std::vector<Case> cases, std::size_t count);

// Shapes and inputs drawn by the seed, as grading poses them.
std::vector<Case> random_backward_cases(std::uint64_t seed, std::size_t count);

}  // namespace lab
