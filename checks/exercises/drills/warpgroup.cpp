// What `warpgroup` is given, and what must come out: a 64 x 64 by 64 x 64 product.
#include "checks/exercises/drills/drill.hpp"

std::vector<lab::Drill> lab::the_drills() {
  Drill d;
  d.kernel = drill;
  d.threads = 128;
  d.shared_bytes = 2 * 64 * 64 * 2;
  d.in = small_numbers(2 * 64 * 64);
  for (std::size_t row = 0; row < 64; ++row)
    for (std::size_t col = 0; col < 64; ++col) {
      float sum = 0;
      for (std::size_t k = 0; k < 64; ++k) sum += to_float(d.in[row * 64 + k]) * to_float(d.in[4096 + col * 64 + k]);
      d.right.push_back(sum);
    }
  return {d};
}
