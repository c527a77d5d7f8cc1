// How to recognise the bug keys_overwritten.
#include "checks/bugs/signature.hpp"

using namespace lab;

std::vector<Part> look() {
  return {checker_reports({1, 1, 140, 64, false}, {Finding::Kind::race_inter_warp, "store2(swizzled(smem.K"}),
          still_right({run_trial({1, 1, 100, 64, false}), dv})};
}
