// How to recognise the bug plain_sum.
#include "checks/bugs/signature.hpp"

using namespace lab;

std::vector<Part> look() {
  return {checker_reports({1, 1, 70, 64, false}, {Finding::Kind::race_inter_block, "dq_sum["}),
          still_right({run_trial({1, 1, 70, 64, false}), dk})};
}
