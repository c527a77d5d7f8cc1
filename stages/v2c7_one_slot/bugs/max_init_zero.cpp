// How to recognise the bug max_init_zero.
#include <algorithm>

#include "checks/bugs/signature.hpp"

using namespace lab;

constexpr Shape SHAPE{1, 1, 80, 64, false};
// No row's largest score lies within -108..-84 or -20..-15.5, where what comes out hangs on roundings.
constexpr std::uint64_t SEED = 282;

// Each row's largest score.
std::vector<double> largest_scores(const Trial& t) {
  std::vector<double> largest(t.shape.S, -1e9);
  for (int i = 0; i < t.shape.S; ++i)
    for (int n = 0; n < t.shape.S; ++n) {
      double s = 0;
      for (int c = 0; c < t.shape.D; ++c)
        s += double(to_float(t.in.q[i * t.shape.D + c])) * to_float(t.in.k[n * t.shape.D + c]);
      largest[i] = std::max(largest[i], t.scale * s);
    }
  return largest;
}

std::vector<Part> look() {
  // exp(-104) is 0 in fp32, exp(-17.4) as a half.
  const Trial t = run_trial(SHAPE, Family::offset, {}, SEED);
  const std::vector<double> largest = largest_scores(t);
  const auto gone = [&](int row, int) { return largest[row] < -104; };
  const auto rounded_away = [&](int row, int) { return largest[row] > -86 && largest[row] < -18; };
  return {nan_exactly(t, gone, "the row's largest score is below -104"),
          equals_prediction(t, std::vector<double>(t.outputs[0].size(), 0.0), "0 where it is between -86 and -18",
                            rounded_away)};
}
