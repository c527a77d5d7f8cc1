// Inputs of `merge`, and the right answer: the softmax over both blocks' keys. Powers of two and small whole
// numbers: every sum is exact.
#include <algorithm>
#include <cmath>

#include "checks/exercises/drills/drill.hpp"

__global__ void mechanism(const half* in, float* out);

namespace {

constexpr int ROWS = 64, COLUMNS = 16;

// The first block of every eighth row sees no key, the second block of the row after it neither.
float reference(int block, int row) {
  if (row % 8 == block) return -INFINITY;
  return lab::small_number(unsigned(block * ROWS + row));
}

}  // namespace

std::vector<lab::Drill> lab::the_drills() {
  Drill d;
  d.name = "64 rows";
  for (int block = 0; block < 2; ++block)
    for (int row = 0; row < ROWS; ++row) {
      const float m = reference(block, row);
      const bool none = m == -INFINITY;
      d.in.push_back(to_fp16(m)), d.in.push_back(to_fp16(none ? 0.0f : float(1 + row % 5)));
      for (int c = 0; c < COLUMNS; ++c)
        d.in.push_back(to_fp16(none ? 0.0f : small_number(unsigned((block * ROWS + row) * COLUMNS + c))));
    }
  const auto at = [&](int block, int row, int i) {
    return to_float(d.in[std::size_t((block * ROWS + row) * (COLUMNS + 2) + i)]);
  };
  for (int row = 0; row < ROWS; ++row)
    for (int c = 0; c < COLUMNS; ++c) {
      const float most = std::max(reference(0, row), reference(1, row));
      float l = 0, o = 0;
      for (int block = 0; block < 2; ++block) {
        const float factor = std::exp2(reference(block, row) - most);
        l += at(block, row, 1) * factor, o += at(block, row, 2 + c) * factor;
      }
      d.right.push_back(o / l);
    }
  on_input(d, mechanism, {ROWS, ROWS * 10 * sizeof(float), dim3(2), dim3(2)});
  return {d};
}
