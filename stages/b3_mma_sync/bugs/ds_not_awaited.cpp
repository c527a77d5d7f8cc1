// How to recognise the bug ds_not_awaited.
#include "checks/bugs/signature.hpp"

using namespace lab;

std::vector<Part> look() {
  return {checker_reports({1, 1, 100, 64, false}, {Finding::Kind::race_inter_warp, "swizzled(smem.dS, key"}),
          still_right({run_trial({1, 1, 60, 64, false}), dv})};
}
