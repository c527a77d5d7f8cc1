// Which problems the backward acceptance poses.
#pragma once
#include <cstdint>
#include <vector>

#include "checks/acceptance/acceptance.hpp"

namespace lab {

// In the order of the report. Without `full` the CPU runs the long shapes with a head each.
std::vector<Case> backward_cases(std::uint64_t seed, bool full);

// Shapes and inputs drawn by the seed, as grading poses them.
std::vector<Case> random_backward_cases(std::uint64_t seed, std::size_t count);

}  // namespace lab
