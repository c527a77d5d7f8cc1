// How to recognise the bug sums_read_early.
#include "checks/bugs/backward_parts.hpp"

using namespace lab;

std::vector<Part> look() {
  return {checker_reports({1, 1, 100, 64, false}, Finding::Kind::before_dependency, "round_transposed<D>(dq_sum + at"),
          still_right(look_at({1, 1, 100, 64, false}), Gradient::dq)};
}
