// How to recognise the bug ds_written_early.
#include "checks/bugs/signature.hpp"

using namespace lab;

std::vector<Part> look() {
  return {checker_reports({1, 1, 300, 64, false}, {Finding::Kind::race_inter_warp, "ptx::stmatrix_x4_trans"}),
          still_right({run_trial({1, 1, 100, 64, false}), dv})};
}
