// Inputs of `warpgroup`, and the right answer: a 64 x 64 by 64 x 64 product.
#include "checks/exercises/drills/drill.hpp"

std::vector<lab::Drill> lab::the_drills() {
  Drill d = instruction(128, 2 * 64 * 64 * 2);
  d.in = small_numbers(2 * 64 * 64);
  multiply(d, 64, 64, 64, true);
  return {d};
}
