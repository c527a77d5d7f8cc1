// How to recognise the bug skip_tail.
#include "checks/bugs/fingerprint.hpp"

namespace {
using namespace lab;

// The last tile has 52 rows: three stripes and 4 rows of a fourth.
constexpr Shape RAGGED{1, 2, 500, 64, false}, SHORT{1, 1, 116, 64, false};

std::vector<Part> look() {
  return {unwritten_exactly(
              run_trial(RAGGED), [](int row, int) { return row >= 496; }, "rows 496..499 of 500"),
          checker_reports(SHORT, {Finding::Kind::barrier, "", "now all can see it; and all"})};
}

const RegisteredFingerprint registered(look);

}  // namespace
