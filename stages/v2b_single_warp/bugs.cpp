// How to recognise the bugs that this stage can plant.
#include "checks/bugs/fingerprint.hpp"

namespace {
using namespace lab;

constexpr Shape MISSION{1, 8, 512, 64, false};

std::vector<Part> interwarp_race() {
  return {
      schedules_differ({1, 1, 128, 64, false}),
      checker_reports({1, 1, 128, 64, false}, {Finding::Kind::race_inter_warp, "const float old_max = smem.row_max[r];",
                                               "smem.row_max[r] = new_max;"}),
      checker_reports({1, 1, 128, 64, false}, {Finding::Kind::race_inter_warp, "make_float2(pair[0] * rescale",
                                               "O[64 * j + 2 * lane] = o[j].x"})};
}

std::vector<Part> smem_48k() {
  const Trial t = run_trial(MISSION);
  return {refused(t, {std::to_string(t.plan.dynamic_smem), "49152"})};
}

std::vector<Part> smem_overflow() {
  // 2048 keys take three stages. The budget is sm_89's on every backend, so a GPU with room for it refuses it too.
  return {refused(run_trial({1, 1, 2048, 128, false}), {"173568", "101376"})};
}

std::vector<Part> warp7_nan() {
  const Trial t = run_trial(MISSION);
  const int m = t.plan.tile_m, first = m - t.plan.rows_per_warp;
  return {nan_exactly(
      t, [=](int row, int) { return row % m >= first; },
      "row mod " + std::to_string(m) + " >= " + std::to_string(first) + ", 1/8 of the output")};
}

std::vector<Part> accum_tail() {
  const Trial t = run_trial(MISSION);
  // The clear stops after M * D floats of M rows that are D + 8 apart.
  const int m = t.plan.tile_m, d = t.shape.D, pitch = d + 8;
  return {nan_exactly(
              t, [=](int row, int col) { return row % m * pitch + col >= m * d; },
              "(row mod M) * (D + 8) + col >= M * D, with shared memory full of NaN"),
          checker_reports({1, 1, 64, 64, false}, {Finding::Kind::uninitialised, "", "make_float2(pair[0] * rescale"})};
}

}  // namespace

std::vector<lab::Fingerprint> lab::fingerprints() {
  return {
      {"interwarp_race", "two warps share a row: each folds its half of the tile into the same m, l, O, with no merge",
       "none: it depends on who runs when", interwarp_race},
      {"smem_48k", "no cudaFuncAttributeMaxDynamicSharedMemorySize before a launch that asks for more than 48 KiB",
       "the launch is refused; nothing runs", smem_48k},
      {"smem_overflow", "D = 128 keeps the 64 x 64 tile of D = 64, with three stages",
       "the launch is refused: 173,568 B > 101,376 B", smem_overflow},
      {"warp7_nan", "the producer warp issues copies but skips the compute branch; it owns 8 rows of each tile",
       "O = 0 / 0 where l stays 0: NaN in the rows of warp 7", warp7_nan},
      {"accum_tail", "O is cleared with i < M * D, while its rows are D + 8 apart",
       "exp(-inf) * O = 0 * NaN = NaN in the elements that the clear did not reach", accum_tail},
  };
}
