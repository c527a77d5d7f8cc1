// Launches that overlap: two problems of different lengths, each with tensors and a workspace of its own, launched so
// that their blocks run between each other's, then alone once more. Anything that a launch leaves behind for another, such as
// a counter in a __device__ variable or a pointer kept on the host, makes one of them wrong.
#pragma once
#include <string>
#include <vector>

#include "checks/acceptance/case_run.hpp"
#include "common/overlap.hpp"

namespace lab {

// A case's shape is one problem's.
std::vector<Case> overlap_cases(const Subject& subject, std::uint64_t seed);
CaseResult run_overlap_case(const Subject& subject, const Case& test);

// A line for each thing that went wrong.
std::vector<std::string> overlapping_launches(const Subject& subject, const Shape& one, const Shape& other);

}  // namespace lab
