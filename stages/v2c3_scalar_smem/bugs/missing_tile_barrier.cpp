// How to recognise the bug missing_tile_barrier.
#include "checks/bugs/signature.hpp"

using namespace lab;

constexpr Shape SMALL{1, 1, 128, 64, false};

std::vector<Part> look() {
  const std::string use = "load2(&K[n][c])";  // reads the Q tile too, which the same barrier publishes
  return {schedules_differ(SMALL), checker_reports(SMALL, {Finding::Kind::before_wait, "memcpy_async(&smem.K", use}),
          checker_reports(SMALL, {Finding::Kind::race_inter_warp, "copy8(&smem.Q", use})};
}
