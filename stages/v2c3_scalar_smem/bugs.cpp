// How to recognise the bugs that this stage can plant.
#include "checks/bugs/fingerprint.hpp"
#include "reference/wrong_answers.hpp"

namespace {
using namespace lab;

constexpr Shape MISSION{1, 8, 512, 64, false};
constexpr Shape SMALL{1, 1, 128, 64, false};

std::vector<Part> double_scale() {
  const Trial t = run_trial(MISSION);
  return {
      equals_prediction(t, wrong::double_scale(t.shape, t.scale, t.in.q, t.in.k, t.in.v), "softmax(scale^2 Q K^T) V")};
}

std::vector<Part> reduce_32x() {
  const Trial t = run_trial(MISSION);
  return {equals_prediction(t, wrong::reduce_32x(t.shape, t.scale, t.in.q, t.in.k, t.in.v), "the right answer / 32")};
}

std::vector<Part> inplace_exp() {
  return {schedules_differ(SMALL),
          checker_reports(SMALL, {Finding::Kind::race_intra_warp, "__expf(scores[n] - new_max)", "scores[n] = p;"})};
}

std::vector<Part> missing_tile_barrier() {
  const std::string use = "load2(&sK[n * LD + c])";  // reads the Q tile too, which the same barrier publishes
  return {schedules_differ(SMALL), checker_reports(SMALL, {Finding::Kind::before_wait, "memcpy_async(&smem.sK", use}),
          checker_reports(SMALL, {Finding::Kind::race_inter_warp, "copy8(&smem.sQ", use})};
}

}  // namespace

std::vector<lab::Fingerprint> lab::fingerprints() {
  return {
      {"double_scale", "the scale is applied when a score is stored and again when it is read",
       "softmax(scale^2 Q K^T) V", double_scale},
      {"reduce_32x", "the warp adds up its lanes' sums, but every lane has the sum of the whole row already",
       "l is 32 times too large in every tile: O = ref / 32", reduce_32x},
      {"inplace_exp", "all 32 lanes exponentiate all scores of the row in place, with nothing between them",
       "none: the later a lane comes, the more often its scores have been exponentiated", inplace_exp},
      {"syncwarp_scores", "__syncwarp instead of __syncthreads between scores and softmax",
       "nothing: the warp that reads a row's scores is the one that wrote them", [] { return nothing_wrong(SMALL); },
       true},
      {"missing_tile_barrier", "no block barrier between the arrival of a K/V tile and its use",
       "none: a warp may use the tile before warp 7 has waited for it", missing_tile_barrier},
  };
}
