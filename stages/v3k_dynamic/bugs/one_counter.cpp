// How to recognise the bug one_counter.
#include "checks/bugs/signature.hpp"

using namespace lab;

// A GPU's 132 multiprocessors draw only for long problems.
std::vector<Part> look() {
  return {can_schedule() ? overlapping_launches_wrong({1, 6, 300, 64, true}, {1, 5, 450, 64, true})
                         : overlapping_launches_wrong({1, 12, 16384, 64, false}, {16, 16, 1024, 64, false})};
}
