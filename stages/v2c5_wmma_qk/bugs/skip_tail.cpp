// How to recognise the bug skip_tail.
#include "checks/bugs/signature.hpp"

using namespace lab;

// The last tile has 52 rows: three stripes and 4 rows of a fourth. To return before a barrier is allowed since Volta, so
// the checker has nothing to say.
std::vector<Part> look() {
  return {unwritten_exactly(
      run_trial({1, 2, 500, 64, false}), [](int row, int) { return row >= 496; }, "rows 496..499 of 500")};
}
