// How to recognise the bug inplace_exp.
#include "checks/bugs/signature.hpp"

using namespace lab;

constexpr Shape SMALL{1, 1, 128, 64, false};

std::vector<Part> look() {
  return {schedules_differ(SMALL),
          checker_reports(SMALL, {Finding::Kind::race_intra_warp, "__expf(scores[n] - new_max)", "scores[n] = p;"})};
}
