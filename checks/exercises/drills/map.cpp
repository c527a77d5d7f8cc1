// Inputs of `map`, and the right answer: of each head four rows, and four of zeros.
#include "checks/exercises/drills/drill.hpp"

std::vector<lab::Drill> lab::the_drills() {
  Drill d = instruction_on_map(3072);
  d.in = small_numbers(2 * 20 * 64);
  for (int head = 0; head < 2; ++head)
    for (int row = 16; row < 24; ++row)
      for (int c = 0; c < 64; ++c)
        d.right.push_back(row < 20 ? to_float(d.in[std::size_t((head * 20 + row) * 64 + c)]) : 0.0f);
  return {d};
}
