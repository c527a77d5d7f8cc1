// How to recognise the bug turn_of_a_tile.
#include "checks/bugs/backward_parts.hpp"

using namespace lab;

std::vector<Part> look() {
  return {deadlocks({1, 5, 1060, 128, true}, "waits in a spin on element"),
          still_right(look_at({1, 5, 1100, 64, true}), Gradient::dq)};
}
