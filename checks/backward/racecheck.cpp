// lab racecheck and lab once of a backward stage.
#include <cstdio>
#include <span>
#include <string>
#include <string_view>

#include "checks/acceptance/format.hpp"
#include "checks/acceptance/report.hpp"
#include "checks/backward/trial.hpp"
#include "checks/bugs/elsewhere.hpp"
#include "checks/races/racecheck.hpp"
#include "checks/runner/commands.hpp"
#include "checks/runner/library.hpp"
#include "reference/attention.hpp"

namespace lab {
namespace {

struct Problem {
  Shape shape;
  double dout = 1;  // what multiplies dO
};
constexpr double NEEDS_UNIT = 1e4;  // then dS may be beyond the largest half, and stages take another path
// One row, where whatever is read past it lies outside the workspace; below a tile, at its end and past it, both head
// dimensions, causal and not; the last has four tiles.
constexpr Problem PROBLEMS[] = {{{1, 1, 1, 64, false}},
                                {{1, 1, 17, 64, false}},
                                {{1, 1, 64, 64, false}},
                                {{1, 2, 100, 64, true}},
                                {{1, 1, 40, 128, true}},
                                {{1, 1, 100, 128, false}},
                                {{1, 1, 200, 128, true}},
                                {{1, 1, 200, 64, false}, NEEDS_UNIT},
                                {{1, 1, 200, 128, true}, NEEDS_UNIT}};
// The second and third have more than one tile of each stage.
constexpr Problem SHORT_PROBLEMS[] = {
    {{1, 1, 40, 64, true}}, {{1, 1, 140, 128, false}}, {{1, 1, 140, 128, false}, NEEDS_UNIT}};
constexpr Schedule SHORT[] = {Schedule::ascending, Schedule::random};

}  // namespace

int backward_racecheck_command(std::span<char*> args) {
  constexpr std::string_view keys[] = {"short"};
  const bool is_short = KeyValues(args, keys).flag("short");
  if (!can_check()) throw BadInput("this binary is not instrumented: make stage=S racecheck builds one that is");
  Told told;
  const std::span<const Problem> problems = is_short ? std::span<const Problem>(SHORT_PROBLEMS) : PROBLEMS;
  const std::span<const Schedule> schedules = is_short ? std::span<const Schedule>(SHORT) : SCHEDULES;
  const std::size_t steps = problems.size() * schedules.size();
  Progress progress(steps, double(steps), true);
  for (const auto& [shape, dout] : problems) {
    const BackwardInputs in = make_backward_inputs(Family::unit, shape, 1, 1, {.dout = dout});
    for (const Schedule schedule : schedules) {
      progress.start(text(shape));
      ExecOptions options;
      options.schedule = schedule, options.check = true, options.gaps = true;
      options.block_order = std::uint64_t(schedule);  // a different one for each schedule
      const BackwardTrial t = run_backward(shape, float(default_scale(shape.D)), in, options);
      told.add(t, schedule, t.error());
      progress.finish(1);
    }
  }
  return told.report(backward_stage().name, format("%zu problems, %zu schedules with an order of blocks each",
                                                   problems.size(), schedules.size()));
}

// lab plan B H S D [causal]: each kernel that a call launches, by its address in the library, and the dynamic shared
// memory that it asks for. No block runs.
int backward_plan_command(std::span<char*> args) {
  const Shape shape = once_words_of(args).shape;
  const std::vector<fp16> zeros(shape.elements());
  ExecOptions options;
  options.blocks = {~0u};  // which no grid has
  const BackwardTrial t = run_backward(shape, float(default_scale(shape.D)), {{zeros, zeros, zeros}, zeros}, options);
  for (const Launched& l : t.report.launched) std::printf("%zx %zu\n", offset_in_library(l.kernel), l.dynamic_smem);
  return t.launched == cudaSuccess ? 0 : 1;
}

// lab once B H S D [causal]: one launch on unit inputs, for compute-sanitizer to watch. 0 even if the launch fails: the
// tool has its own verdict.
int backward_once_command(std::span<char*> args) {
  const Shape shape = once_words_of(args).shape;
  const BackwardTrial t =
      run_backward(shape, float(default_scale(shape.D)), make_backward_inputs(Family::unit, shape, 1));
  std::printf("%s, %s: %s\n", backward_stage().name, text(shape).c_str(), t.ok() ? "ran" : t.error().c_str());
  return 0;
}

}  // namespace lab
