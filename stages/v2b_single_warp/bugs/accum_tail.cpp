// How to recognise the bug accum_tail.
#include "checks/bugs/signature.hpp"

using namespace lab;

constexpr Shape MISSION{1, 8, 512, 64, false};

std::vector<Part> look() {
  const Trial t = run_trial(MISSION);
  // The clear stops after M * D floats of M rows that are D + 8 apart.
  const int m = plan_of(t.shape).tile_m, d = t.shape.D, pitch = d + 8;
  return {nan_exactly(
              t, [=](int row, int col) { return row % m * pitch + col >= m * d; },
              "(row mod M) * (D + 8) + col >= M * D, with shared memory full of NaN"),
          checker_reports({1, 1, 64, 64, false}, {Finding::Kind::uninitialised, "", "make_float2(pair[0] * rescale"})};
}
