// How to recognise the bugs that this stage can plant.
#include "checks/bugs/fingerprint.hpp"
#include "common/wmma_layout.hpp"
#include "reference/wrong_answers.hpp"

namespace {
using namespace lab;

constexpr Shape SMALL{1, 1, 128, 64, false};

// The kernel sets a.x[i] = c.x[i mod 8]. What the multiplication then reads as A(r,k) comes from the lane and element
// that hold it in a matrix_a fragment, and was the accumulator's element of that lane and number.
template <class Held>
wrong::BlockMap filled_from(Held held) {
  wrong::BlockMap map{};
  for (int r = 0; r < 16; ++r)
    for (int k = 0; k < 16; ++k) {
      const int source = wmma_layout::A_ROW_USED[r][k];
      map[std::size_t(16 * r + k)] = short(held(source / 16, source % 16 % 8));
    }
  return map;
}

// On the H200 both fragments keep their elements in the same places, so the bug changes nothing there: its prediction
// is the right answer. With another legal accumulator layout the prediction is wrong, and the kernel must be wrong as
// predicted.
std::vector<Part> fragment_layout() {
  const Shape square{1, 2, 256, 64, false}, ragged{1, 1, 200, 128, true};
  const wrong::BlockMap same = filled_from([](int lane, int i) { return wmma_layout::ACC_HELD[lane][i]; });
  const wrong::BlockMap permuted = filled_from(wmma_layout::acc_held_other);
  const auto predicted = [](const Trial& t, const wrong::BlockMap& map) {
    return wrong::fragment_layout(t.shape, t.scale, t.in.q, t.in.k, t.in.v, map, t.plan.tile_m, t.plan.tile_n);
  };
  std::vector<Part> parts;
  const Trial measured = run_trial(square);
  parts.push_back(right_by_luck(measured, predicted(measured, same), "with the H200's measured layouts, which agree"));
  if (!can_schedule()) return parts;
  ExecOptions other;
  other.fragments = Fragments::other;
  for (const Shape& shape : {square, ragged}) {
    const Trial t = run_trial(shape, Family::unit, other);
    parts.push_back(
        equals_prediction(t, predicted(t, permuted), "P permuted inside each 16 x 16 block, by another legal layout"));
  }
  return parts;
}

std::vector<Part> scratch_race() {
  return {checker_reports(SMALL, {Finding::Kind::race_intra_warp, "wmma::store_matrix_sync(&scratch[n]",
                                  "? scores[32 * j + lane] * scale"})};
}

}  // namespace

std::vector<lab::Fingerprint> lab::fingerprints() {
  return {
      {"fragment_layout", "the P fragment (matrix_a) is filled element by element from an accumulator fragment",
       "P'(r,k) = P(what the accumulator keeps where matrix_a keeps (r,k)): on sm_90 as measured, P itself",
       fragment_layout},
      {"scratch_race", "no __syncwarp between storing the scores to the warp's scratch and reading them by row",
       "none: a lane may read a score before the lane that holds it has stored it", scratch_race},
  };
}
