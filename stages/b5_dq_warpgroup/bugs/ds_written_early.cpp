// How to recognise the bug ds_written_early.
#include "checks/bugs/backward_parts.hpp"

using namespace lab;

std::vector<Part> look() {
  return {checker_reports({1, 1, 300, 64, false}, Finding::Kind::race_inter_warp, "ptx::stmatrix_x4_trans"),
          still_right(look_at({1, 1, 100, 64, false}), Gradient::dv)};
}
