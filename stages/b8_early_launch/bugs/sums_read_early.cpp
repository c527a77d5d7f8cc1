// How to recognise the bug sums_read_early.
#include "checks/bugs/backward_parts.hpp"

using namespace lab;

std::vector<Part> look() {
  return {checker_reports({1, 1, 100, 64, false}, Finding::Kind::before_dependency, "const float4 x ="),
          still_right(look_at({1, 1, 100, 64, false}), Gradient::dq)};
}
