// Inputs of `product`, and the right answer: a 16 x 16 by 16 x 8 product.
#include "checks/exercises/drills/drill.hpp"

std::vector<lab::Drill> lab::the_drills() {
  Drill d = instruction(32, 0);
  d.in = small_numbers(16 * 16 + 16 * 8);
  multiply(d, 16, 8, 16, false);
  return {d};
}
