// How to recognise the bugs that this stage can plant.
#include "checks/bugs/fingerprint.hpp"
#include "reference/wrong_answers.hpp"

namespace {
using namespace lab;

constexpr Shape MISSION{1, 8, 512, 64, false};
constexpr Shape SMALL{1, 1, 128, 64, false};
constexpr Shape RAGGED{1, 2, 500, 64, false};  // its last tile has 52 rows: three stripes and 4 rows of a fourth

std::vector<Part> smem_temporaries() {
  // The arrays behind S_scores slide past the request: O_accum is the first that the kernel writes.
  return {checker_reports(SMALL, {Finding::Kind::out_of_bounds, "", "smem.O_accum[i] = 0.0f;"}),
          fails(run_trial(SMALL), cudaErrorIllegalAddress, {"outside the request"})};
}

std::vector<Part> qk_not_transposed() {
  const Trial t = run_trial(MISSION);
  return {equals_prediction(t, wrong::qk_not_transposed(t.shape, t.scale, t.in.q, t.in.k, t.in.v, t.plan.tile_n),
                            "softmax(scale Q K_tile) V, the tile multiplied as it lies")};
}

std::vector<Part> ldm() {
  const Trial t = run_trial(MISSION), wide = run_trial({1, 1, 200, 128, true});
  const auto predicted = [](const Trial& x) { return wrong::ldm(x.shape, x.scale, x.in.q, x.in.k, x.in.v); };
  return {equals_prediction(t, predicted(t), "attention with every 16 x 16 block of K transposed"),
          equals_prediction(wide, predicted(wide), "the same at D = 128, causal, S = 200")};
}

std::vector<Part> partial_stripe() {
  return {wrong_somewhere(run_trial(MISSION)),
          checker_reports(SMALL, {Finding::Kind::race_inter_warp, "", "wmma::store_matrix_sync(&smem.S_scores"}),
          checker_reports(SMALL, {Finding::Kind::out_of_bounds, "", "wmma::store_matrix_sync(&smem.S_scores"})};
}

std::vector<Part> skip_tail() {
  return {unwritten_exactly(
              run_trial(RAGGED), [](int row, int) { return row >= 496; }, "rows 496..499 of 500"),
          checker_reports(RAGGED, {Finding::Kind::barrier, "", "now all can see it; and all"})};
}

std::vector<Part> misaligned_cp_async() {
  return {fails(run_trial(SMALL), cudaErrorMisalignedAddress,
                {"misaligned address", "cp.async of 16 bytes", "warp 7 lane"})};
}

}  // namespace

std::vector<lab::Fingerprint> lab::fingerprints() {
  return {
      {"smem_temporaries", "the host leaves the WMMA score buffer out of the bytes it asks for",
       "the kernel's last arrays lie past the request: refused, an illegal address, or, within rounding, nothing "
       "visible",
       smem_temporaries},
      {"qk_not_transposed", "matrix_b is loaded row-major from K[n][d]: Q K, not Q K^T",
       "S[r][n] = scale sum_c Q[r][c] K_tile[c][n]", qk_not_transposed},
      {"ldm", "K^T is stored row-major, [D][STAGES N], and loaded as col_major with ldm = STAGES N",
       "K'[n0+n][k0+k] = K[n0+k][k0+n]: every 16 x 16 block of K transposed", ldm},
      {"partial_stripe",
       "a warp owns 8 rows but multiplies 16: stripes overlap, and the last stores 8 rows past S_scores",
       "rows 64..71 of the scores land in O_accum, over the output of rows 0..7", partial_stripe},
      {"skip_tail", "a warp whose 16-row stripe is partial returns before the block barriers that follow",
       "the tail rows of a ragged S are never written; the others are right", skip_tail},
      {"misaligned_cp_async", "a row pitch of D + 4 halves: every other row starts 8 bytes past a multiple of 16",
       "a misaligned address at the first row that is off", misaligned_cp_async},
  };
}
