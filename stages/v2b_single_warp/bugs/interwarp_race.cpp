// How to recognise the bug interwarp_race.
#include "checks/bugs/signature.hpp"

using namespace lab;

std::vector<Part> look() {
  return {
      schedules_differ({1, 1, 128, 64, false}),
      checker_reports({1, 1, 128, 64, false}, {Finding::Kind::race_inter_warp, "const float old_max = smem.row_max[r];",
                                               "smem.row_max[r] = new_max;"}),
      checker_reports({1, 1, 128, 64, false}, {Finding::Kind::race_inter_warp, "make_float2(pair[0] * rescale",
                                               "O[64 * j + 2 * lane] = o[j].x"})};
}
