// How to recognise the bug sums_read_early.
#include "checks/bugs/signature.hpp"

using namespace lab;

std::vector<Part> look() {
  return {checker_reports({1, 1, 100, 64, false}, {Finding::Kind::before_dependency, "round_transposed<D>(dq_sum + at"},
                          Under::some),
          still_right({run_trial({1, 1, 100, 64, false}), dq})};
}
