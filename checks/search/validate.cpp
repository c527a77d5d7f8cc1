// validate shape=B,H,S,D[,causal] [seed=N]: whether the loaded kernel may be timed, for the search, which reads the verdict's smem (bytes),
// us (a figure a round; without a clock what `counters` allows at least), and refused, with status 1: GUARD: WHAT.
#include <cstdio>

#include "checks/acceptance/verdict.hpp"
#include "checks/bench/shapes.hpp"
#include "checks/bugs/trial.hpp"
#include "checks/counters/floor.hpp"
#include "checks/runner/commands.hpp"
#include "checks/search/validator.hpp"

namespace lab {

int validate_command(std::span<char*> args) {
  constexpr std::string_view KEYS[] = {"shape", "seed"};
  const KeyValues words(args, KEYS);
  const Shape shape = one_shape(words.require("shape"));
  search::Plan plan = search::plan_for(shape);
  plan.seed = words.whole("seed", ~0ull, 0, 1);
  try {
    std::vector<double> figures = search::validate(subject(), shape, plan);
    if (can_check())  // by what the CPU execution counts; nothing is measured
      figures = {floor_of(run_trial(shape, Family::unit, {.count = true}).report.counted_blocks).least()};
    std::string us;
    for (const double each : figures) us += format(" %.4f", each);
    record("us", us), record("smem", std::to_string(plan_of(shape).smem));
    std::printf("passes:%s us\n", us.c_str());
    return 0;
  } catch (const search::Refused& e) {
    record("refused", e.what());
    std::printf("refused %s\n", e.what());
    return 1;
  }
}

}  // namespace lab
