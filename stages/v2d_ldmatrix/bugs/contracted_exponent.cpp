// How to recognise the bug contracted_exponent.
#include <cmath>

#include "checks/acceptance/format.hpp"
#include "checks/bugs/signature.hpp"
#include "reference/wrong_answers.hpp"

using namespace lab;

constexpr Shape NARROW{1, 1, 64, 64, false}, WIDE_CAUSAL{1, 2, 100, 128, true};
// 12000^2 D is a float, so all scores are exact and equal, and the right answer is the mean of V.
constexpr double INFINITE = 12000, SILENT = 20000;

// The output is the predicted one: NaN and infinities where it has them, else to a step of fp16.
Part is_predicted(const Shape& shape, double amplitude) {
  const float scale = float(default_scale(shape.D));
  const Trial t = run_trial(shape, make_inputs(Family::constant, shape, 1, {}, amplitude), scale, {}, Family::constant);
  const auto predicted = wrong::contracted_exponent(t);
  std::size_t same = 0, nan = 0, infinite = 0, zero = 0;
  for (std::size_t i = 0; i < t.outputs[0].size(); ++i) {
    const double out = to_float(t.outputs[0][i]), p = predicted[i];
    same += std::isnan(p) ? std::isnan(out) : out == p || std::abs(out - p) <= 0x1p-10 * std::abs(p);
    nan += std::isnan(out), infinite += std::isinf(out), zero += out == 0;
  }
  Part part;
  part.expected = format("q = k = %g: the row's own maximum has the weight 2^r, not 1, and it goes to fp16", amplitude);
  part.shown = t.ok() && same == t.outputs[0].size();
  part.seen = format("%s, q = k = %g: %zu of %zu elements as predicted; %zu are NaN, %zu infinite, %zu zero",
                     t.title().c_str(), amplitude, same, t.outputs[0].size(), nan, infinite, zero);
  return part;
}

std::vector<Part> look() {
  return {is_predicted(NARROW, INFINITE), is_predicted(NARROW, SILENT), is_predicted(WIDE_CAUSAL, INFINITE)};
}
