// What `product` is given, and what must come out: a 16 x 16 by 16 x 8 product.
#include "checks/exercises/drills/drill.hpp"

std::vector<lab::Drill> lab::the_drills() {
  Drill d;
  d.kernel = drill;
  d.in = small_numbers(16 * 16 + 16 * 8);
  for (int row = 0; row < 16; ++row)
    for (int col = 0; col < 8; ++col) {
      float sum = 0;
      for (int k = 0; k < 16; ++k) sum += to_float(d.in[row * 16 + k]) * to_float(d.in[256 + k * 8 + col]);
      d.right.push_back(sum);
    }
  return {d};
}
