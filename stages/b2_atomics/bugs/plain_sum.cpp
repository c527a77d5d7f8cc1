// How to recognise the bug plain_sum.
#include "checks/bugs/backward_parts.hpp"

using namespace lab;

std::vector<Part> look() {
  return {checker_reports({1, 1, 70, 64, false}, Finding::Kind::race_inter_block, "dq_sum["),
          still_right(look_at({1, 1, 70, 64, false}), Gradient::dk)};
}
