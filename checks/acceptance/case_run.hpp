// One case of the acceptance: its launches, what they did beside computing, and the comparison with the oracle.
#pragma once
#include <stdexcept>
#include <string>

#include "checks/acceptance/acceptance.hpp"

namespace lab {

// A GPU's launch did not end: nothing more can be run, and only the end of this process frees the GPU.
struct StillRuns : std::runtime_error {
  explicit StillRuns(const std::string& what) : std::runtime_error(what) {}
};

// `number` is the case's place among all, for turns. Throws StillRuns, or CudaError where the harness can't go on.
CaseResult run_case(const Case& test, std::size_t number, const AcceptanceOptions& options);

}  // namespace lab
