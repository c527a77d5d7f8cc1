// How to recognise the bug turn_passed_first.
#include "checks/bugs/backward_parts.hpp"

using namespace lab;

std::vector<Part> look() {
  return {bits_differ({1, 1, 300, 64, false}), still_right(look_at({1, 2, 100, 64, false}), Gradient::dq)};
}
