// How to recognise the bug fragment_layout.
#include "checks/bugs/signature.hpp"
#include "common/wmma_layout.hpp"
#include "reference/wrong_answers.hpp"

using namespace lab;

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
std::vector<Part> look() {
  const Shape square{1, 2, 256, 64, false}, ragged{1, 1, 200, 128, true};
  const wrong::BlockMap same = filled_from([](int lane, int i) { return wmma_layout::ACC_HELD[lane][i]; });
  const wrong::BlockMap permuted = filled_from(wmma_layout::acc_held_other);
  const auto predicted = [](const Trial& t, const wrong::BlockMap& map) {
    return wrong::fragment_layout(t, map, plan_of(t.shape).tile_m, plan_of(t.shape).tile_n);
  };
  std::vector<Part> parts;
  const Trial measured = run_trial(square);
  parts.push_back(still_right(measured, "with the H200's measured layouts, which agree", predicted(measured, same)));
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
