// runner KERNEL predict, card and counts of a backward stage: what an exercise's checks look at beside the acceptance.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>

#include "checks/acceptance/cases.hpp"
#include "checks/acceptance/comparison.hpp"
#include "checks/acceptance/format.hpp"
#include "checks/acceptance/same_bits.hpp"
#include "checks/acceptance/verdict.hpp"
#include "checks/bench/shapes.hpp"
#include "checks/bugs/backward_parts.hpp"
#include "checks/exercises/counts.hpp"
#include "checks/exercises/predict.hpp"
#include "checks/runner/commands.hpp"
#include "reference/attention.hpp"

namespace lab {
namespace {

std::vector<Marked> outputs_of(const Request& r, const Shape& shape) {
  const Trial t = run_trial(shape, r.family, r.options);
  if (!t.ok()) std::printf("%s: %s\n", text(shape).c_str(), t.error().c_str());
  const std::vector<Expected> right = oracle(subject(), {shape, t.scale, r.family, t.in});
  std::vector<Marked> all;
  for (std::size_t i = 0; i < right.size(); ++i)
    all.push_back({subject().outputs[i], marks_of(shape, all_rows(shape), t.outputs[i], right[i])});
  return all;
}

std::vector<Finding> findings_in_orders(const Request& r, const Shape& shape) {
  if (!can_check()) throw BadInput("this binary is not instrumented");
  std::vector<Finding> all;
  for (const Schedule schedule : SCHEDULES)
    for (const Copies copies : COPY_TIMES) {
      Request checked = r;
      checked.options.schedule = schedule, checked.options.block_order = std::uint64_t(schedule);
      checked.options.copies = checked.options.products = copies;
      checked.options.check = checked.options.gaps = true;
      const Trial t = run_trial(shape, checked.family, checked.options);
      all.insert(all.end(), t.findings.begin(), t.findings.end());
    }
  return all;
}

long different_outputs(const Request&, const Shape& shape) { return long(count_outputs(subject(), shape).outputs); }

// Wrong gradients to choose from: how the weights of a head differ from the right ones.
struct WrongPairs {
  const char *name, *says;
  void (*change)(BackwardHead& head, double scale);
};
template <class Change>
void each_pair(BackwardHead& h, Change change) {
  for (int i = 0; i < h.S; ++i)
    for (int j = 0; j < h.S; ++j)
      if (h.sees(i, j)) change(i, j, h.P[h.at(i, j)], h.dP[h.at(i, j)], h.dS[h.at(i, j)]);
}
constexpr WrongPairs PAIR_FORMULAS[] = {
    {"right", "dS = scale P (dP - delta), as it should be", [](BackwardHead&, double) {}},
    {"delta-left-out", "dS = scale P dP",
     [](BackwardHead& h, double scale) {
       each_pair(h, [&](int, int, double& P, double& dP, double& dS) { dS = scale * P * dP; });
     }},
    {"delta-added", "dS = scale P (dP + delta)",
     [](BackwardHead& h, double scale) {
       each_pair(h, [&](int i, int, double& P, double& dP, double& dS) { dS = scale * P * (dP + h.delta[i]); });
     }},
    {"scale-left-out", "dS = P (dP - delta)",
     [](BackwardHead& h, double scale) { each_pair(h, [&](int, int, double&, double&, double& dS) { dS /= scale; }); }},
    {"scale-squared", "dS = scale^2 P (dP - delta)",
     [](BackwardHead& h, double scale) { each_pair(h, [&](int, int, double&, double&, double& dS) { dS *= scale; }); }},
    {"p-not-normalised", "P = exp(s), without the division by the row's sum, in dV and in dS",
     [](BackwardHead& h, double) {
       each_pair(h, [&](int i, int, double& P, double&, double& dS) {
         const double sum = std::exp(h.L[i]);
         P *= sum, dS *= sum;
       });
     }},
    {"own-key-left-out", "P = dS = 0 for a row and its own key, and all other pairs as they are",
     [](BackwardHead& h, double) {
       each_pair(h, [&](int i, int j, double& P, double&, double& dS) {
         if (i == j) P = dS = 0;
       });
     }},
    {"p-base-confused", "P = exp(s - L ln 2), in dV and in dS", [](BackwardHead& h, double) {
       each_pair(h, [&](int i, int, double& P, double&, double& dS) {
         const double factor = std::exp(h.L[i] * (1 - std::log(2.0)));
         P *= factor, dS *= factor;
       });
     }}};

Score pair_formula_score(const Request& r, const Shape& shape) {
  const auto formula = std::ranges::find(PAIR_FORMULAS, r.say, [](const WrongPairs& f) { return std::string(f.name); });
  if (formula == std::end(PAIR_FORMULAS)) throw BadInput("there is no formula " + r.say);
  const Look& look = once(shape, [&] { return look_at(shape, r.family); });
  const double scale = look.trial.scale;
  const Gradients predicted = backward_after(look, [&](BackwardHead& h) { formula->change(h, scale); });
  Score score{look.trial.ok()};
  for (const auto& [which, name] : {std::pair{Gradient::dq, "dQ"}, {Gradient::dk, "dK"}, {Gradient::dv, "dV"}}) {
    const Off off = off_prediction(look, which, predicted);
    std::printf("%s: %s is up to %.2g from that, %zu elements further than the bound\n", look.title().c_str(), name,
                off.most, off.outside);
    if (off.outside) score.right = 0;
  }
  return score;
}

constexpr Sight BACKWARD = {outputs_of, findings_in_orders, different_outputs, pair_formula_score, [] {
                              for (const WrongPairs& f : PAIR_FORMULAS) std::printf("%-22s %s\n", f.name, f.says);
                            }};

}  // namespace

int backward_predict_command(std::span<char*> args) { return predict_with(BACKWARD, args); }

// runner KERNEL card [shape=..] [inputs=..]: the case that an exercise's card tells of, with the worst wrong element.
int backward_card_command(std::span<char*> args) {
  constexpr std::string_view KEYS[] = {"shape", "inputs", "copies"};
  const Request r = read_request(KeyValues(args, KEYS));
  for (const Shape& shape : r.shapes) {
    const Trial t = run_trial(shape, r.family, r.options);
    std::string problem = t.error();
    Comparison seen;
    if (t.ok()) {
      const std::vector<Expected> right = oracle(subject(), {shape, t.scale, r.family, t.in});
      for (std::size_t i = 0; i < right.size(); ++i)
        compare(shape, all_rows(shape), t.outputs[i], right[i], seen, {.output = int(i)});
    }
    if (!seen.good())
      problem = format("%zu of %zu gradients are wrong; the ", seen.outside, seen.compared) +
                lines_of(seen, subject().outputs)[1].replace(6, 0, "is ");
    if (problem.empty()) continue;
    const std::string title = std::string(name(r.family)) + " inputs, " + text(shape);
    record("tells", title + ": " + problem), print_red("  RED " + title + "\n    " + problem);
    return 1;
  }
  return 0;
}

// runner KERNEL counts shape=B,H,S,D: what the first block of each kernel does, added up, and how many different outputs several
// orders of all blocks give. Of one block most gradients must still hold the poison: values that a launcher computes on
// the host are there whichever blocks run.
int backward_counts_command(std::span<char*> args) {
  constexpr std::string_view KEYS[] = {"shape"};
  const Shape shape = one_shape(KeyValues(args, KEYS).require("shape"));
  if (!can_check()) throw BadInput("this binary is not instrumented");
  WordCounter counter;
  Request r;
  r.options.check = r.options.count = true, r.options.watcher = &counter, r.options.blocks = {0};
  const Trial t = run_trial(shape, Family::unit, r.options);
  std::size_t written = 0;
  for (const std::vector<fp16>& gradient : t.outputs)
    written += gradient.size() - std::size_t(std::ranges::count(gradient, FP16_NAN));
  const std::size_t all = 3 * shape.elements();
  const std::string problem =
      !t.ok()             ? "the launch fails: " + t.error()
      : written > all / 2 ? format("one block of each kernel ran, and %zu of %zu gradients were written", written, all)
                          : "";
  if (!problem.empty()) {
    std::printf("%s\n", problem.c_str());
    return 1;
  }
  counter.counts["different-outputs"] = different_outputs(r, shape);
  counter.print();
  return 0;
}

}  // namespace lab
