// How to recognise the bug smem_temporaries.
#include "checks/bugs/signature.hpp"

using namespace lab;

constexpr Shape SMALL{1, 1, 128, 64, false};

std::vector<Part> look() {
  // The arrays behind scores slide past the request: O is the first that the kernel writes.
  return {checker_reports(SMALL, {Finding::Kind::out_of_bounds, "", "smem.O[i / LD][i % LD] = 0.0f;"}),
          fails(run_trial(SMALL), cudaErrorIllegalAddress, {"outside the request"})};
}
