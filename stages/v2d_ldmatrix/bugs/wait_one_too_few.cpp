// How to recognise the bug wait_one_too_few.
#include "checks/bugs/signature.hpp"

using namespace lab;

constexpr Shape SMALL{1, 1, 256, 64, false};

std::vector<Part> look() {
  std::vector<Part> parts = {
      checker_reports(SMALL, {Finding::Kind::before_wait, "__pipeline_memcpy_async(place + n * D, from + n",
                              "ptx::ldmatrix_x4(b[0], b[1], swizzled(K"}),
      schedules_differ(SMALL)};
  if (!can_schedule()) return parts;
  ExecOptions late;
  late.copies = Copies::at_wait;
  parts.push_back(nan_exactly(run_trial(SMALL, Family::unit, late), everywhere,
                              "a copy lands at the wait for it: tile 0 is read as it was found, NaN"));
  return parts;
}
