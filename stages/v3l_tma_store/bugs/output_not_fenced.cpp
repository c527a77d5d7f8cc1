// How to recognise the bug output_not_fenced.
#include "checks/bugs/signature.hpp"

using namespace lab;

constexpr Shape SMALL{1, 1, 100, 64, false}, WIDE{1, 1, 200, 128, true};

std::vector<Part> look() {
  // Each lane stores, and the engine reads all lanes' halves.
  const ExpectedReport unfenced{Finding::Kind::proxy, "ptx::stmatrix_x4(swizzled(box", "ptx::tma_store_3d(out"};
  std::vector<Part> parts = {checker_reports(SMALL, unfenced), checker_reports(WIDE, unfenced)};
  if (!can_schedule()) return parts;
  const Trial t = run_trial(SMALL);
  parts.push_back(still_right(t, "where writes of both ways arrive in the order of the program"));
  return parts;
}
