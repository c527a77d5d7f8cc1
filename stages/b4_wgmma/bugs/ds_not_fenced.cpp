// How to recognise the bug ds_not_fenced.
#include "checks/bugs/backward_parts.hpp"

using namespace lab;

std::vector<Part> look() {
  const Look l = look_at({1, 2, 100, 64, false});
  return {checker_reports({1, 1, 100, 64, false}, Finding::Kind::proxy, "ptx::stmatrix_x4_trans"),
          still_right(l, Gradient::dk), still_right(l, Gradient::dv)};
}
