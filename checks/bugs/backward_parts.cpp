#include "checks/bugs/backward_parts.hpp"

#include <cmath>

#include "checks/acceptance/cases.hpp"
#include "checks/acceptance/comparison.hpp"
#include "checks/acceptance/format.hpp"
#include "checks/acceptance/same_bits.hpp"
#include "checks/acceptance/tolerance.hpp"
#include "checks/bugs/gpu_child_process.hpp"
#include "reference/attention.hpp"
#include "reference/bad_input.hpp"

namespace lab {
namespace {

const char* name(Gradient which) { return which == Gradient::dq ? "dQ" : which == Gradient::dk ? "dK" : "dV"; }
const std::vector<fp16>& got(const Look& look, Gradient which) { return look.trial.outputs[std::size_t(which)]; }
const Expected& right(const Look& look, Gradient which) { return look.right[std::size_t(which)]; }
const std::vector<double>& of(const Gradients& all, Gradient which) {
  return which == Gradient::dq ? all.dq : which == Gradient::dk ? all.dk : all.dv;
}

std::string state(const Look& look) { return look.trial.ok() ? "" : " (" + look.trial.error() + ")"; }

constexpr double APART = 100 * NOTES_TOLERANCE;

}  // namespace

std::string Look::title() const { return std::string(name(trial.family)) + " inputs, " + text(trial.shape); }

Look look_at(const Shape& shape, Family family) {
  Look look{run_trial(shape, family), {}};
  look.right = oracle(subject(), {shape, look.trial.scale, family, look.trial.in});
  return look;
}

Gradients backward_after(const Look& look, const ChangePairs& change) {
  const auto& [q, k, v, dout] = look.trial.in;
  return backward(look.trial.shape, look.trial.scale, q, k, v, dout, Hidden::left_out, change);
}

Part equals_prediction(const Look& look, Gradient which, const Gradients& all, const std::string& formula) {
  const std::vector<double>& predicted = of(all, which);
  double apart = 0, most = 0;
  std::size_t outside = 0;
  for (std::size_t i = 0; i < predicted.size(); ++i) {
    const double diff = std::abs(to_float(got(look, which)[i]) - predicted[i]);
    // The bound of the right gradient, and the rounding of the one that comes out.
    outside += !(diff <= right(look, which).allowed[i] + FP16_ROUNDING * std::abs(predicted[i]));
    most = std::max(most, std::isnan(diff) ? INFINITY : diff);
    apart = std::max(apart, std::abs(predicted[i] - right(look, which).value[i]));
  }
  return {.expected = std::string(name(which)) + " equals " + formula,
          .shown = look.trial.ok() && outside == 0 && apart >= APART,
          .seen = look.title() +
                  format(": |%s - predicted| <= %.1e (%zu of %zu elements are not as predicted); predicted and right "
                         "are up to %.2f apart",
                         name(which), most, outside, predicted.size(), apart) +
                  state(look)};
}

Part still_right(const Look& look, Gradient which) {
  const std::vector<fp16>& values = got(look, which);
  Comparison seen;
  compare(look.trial.shape, all_rows(look.trial.shape), values, right(look, which), seen, {.poison_is_nan = true});
  return {.expected = format("%s is right all the same", name(which)),
          .shown = look.trial.ok() && seen.good(),
          .seen = look.title() +
                  format(": %zu of %zu elements of %s are wrong", seen.outside, values.size(), name(which)) +
                  state(look),
          .always = true};
}

Part nan_exactly(const Look& look, Gradient which, const Where& where, const std::string& rule) {
  const std::vector<fp16>& values = got(look, which);
  const int S = look.trial.shape.S, D = look.trial.shape.D;
  std::size_t nans = 0, predicted = 0, disagree = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool nan = std::isnan(to_float(values[i])), should = where(int(i / D % S), int(i % D));
    nans += nan, predicted += should, disagree += nan != should;
  }
  return {.expected = format("%s is NaN %s", name(which), rule.c_str()),
          .shown = look.trial.ok() && predicted > 0 && disagree == 0,
          .seen = look.title() +
                  format(": %zu of %zu elements of %s are NaN, %zu predicted, %zu disagree", nans, values.size(),
                         name(which), predicted, disagree) +
                  state(look)};
}

Part checker_reports(const Shape& shape, Finding::Kind kind, const std::string& piece) {
  Part part;
  part.expected = std::string("the checker reports: ") + lab::name(kind) + ", at " + piece;
  if (!can_schedule()) return cannot_look(part, "a GPU has no checker of global memory");
  if (!can_check()) throw BadInput("this binary is not instrumented; make stage=S reproduce-bug builds one that is");
  constexpr std::uint64_t ORDERS = 4;
  std::size_t orders = 0;
  for (std::uint64_t order = 0; order < ORDERS; ++order) {
    ExecOptions options;
    options.check = true, options.block_order = order;
    const Trial t = run_trial(shape, Family::unit, options);
    for (const Finding& f : t.findings) {
      if (!f.is(kind) || f.text.find(piece) == f.text.npos) continue;
      if (orders++ == 0) part.lines = {f.text};
      break;
    }
  }
  part.shown = orders > 0;
  part.seen = text(shape) + format(": reported under %zu of %llu orders of blocks", orders, (unsigned long long)ORDERS);
  return part;
}

Part bits_differ(const Shape& shape) {
  const SameBits seen = count_outputs(subject(), shape);
  Part part;
  part.expected = "dQ has other bits in another order of blocks";
  part.shown = seen.each[0] > 1;
  part.seen = text(shape) + format(": %zu outputs of dQ, %zu of dK, %zu of dV in %zu %s", seen.each[0], seen.each[1],
                                   seen.each[2], seen.launches, can_schedule() ? "orders of blocks" : "launches");
  return can_schedule() ? part : may_hide(part, ": a GPU may start and run the blocks in one order");
}

Part deadlocks(const Shape& shape, const std::string& piece) {
  Part part;
  part.expected = "the launch is a deadlock: " + piece;
  if (!can_schedule()) return cannot_look(part, "a GPU would wait for ever");
  const Trial t = run_trial(shape);
  part.shown = t.finished == cudaErrorLaunchTimeout && t.message.find(piece) != t.message.npos;
  part.seen = text(shape) + ": " + (t.ok() ? "the launch ends" : t.error());
  return part;
}

}  // namespace lab
