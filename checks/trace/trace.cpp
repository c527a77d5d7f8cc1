// runner KERNEL trace: one block's execution, or its cluster's, as a picture to look at in ui.perfetto.dev.
#include <cstdio>

#include "checks/acceptance/report.hpp"
#include "checks/acceptance/whole_file.hpp"
#include "checks/bench/shapes.hpp"
#include "checks/bugs/trial.hpp"
#include "checks/runner/commands.hpp"
#include "checks/trace/json.hpp"

namespace lab {

int trace_command(std::span<char*> args) {
  constexpr std::string_view KEYS[] = {"shape", "tile", "json"};
  const KeyValues words(args, KEYS);
  const Shape shape = one_shape(words.get("shape").value_or("1,8,512,64"));
  if (!can_check())
    throw BadInput("this binary is not instrumented: trace runs in a checked or a bug build on the CPU");
  const LaunchPlan plan = plan_of(shape);
  const std::uint64_t tiles = std::uint64_t((shape.S + plan.tile_m - 1) / plan.tile_m) * shape.B * shape.H;
  const auto tile = unsigned(words.whole("tile", tiles - 1));
  const std::string bug = planted_bug();
  const std::string path =
      words.get("json").value_or("build/trace-" + std::string(stage_name()) + (bug.empty() ? "" : "-" + bug) + ".json");

  trace::Steps watcher;
  ExecOptions options;
  options.check = true, options.workers = 1, options.watcher = &watcher;
  options.copies = options.products = Copies::at_issue;  // what is sent lands while its sender's clock says when
  options.blocks = {tile * plan.parts};
  const Trial t = run_trial(shape, Family::unit, options);
  const trace::Picture picture = watcher.picture(!t.ok());
  const trace::Head head{stage_name(), bug.empty() ? "none" : bug, text(shape), tile};
  write_whole(path, trace::to_json(picture, head));

  const char* const blocks = picture.warps.size() > 1 ? "blocks of a cluster" : "block";
  std::printf(
      "%s%s%s, %s, query tile %u: %zu %s, %ld steps (an order of events, not time), %zu slices, %zu copies and "
      "products in flight\n  %s: open it in ui.perfetto.dev; writeups/the-emulator.md says how to read it\n",
      stage_name(), *planted_bug() ? " with " : "", planted_bug(), text(shape).c_str(), tile, picture.warps.size(),
      blocks, picture.steps, picture.work.size() + picture.phases.size(), picture.flights.size(), path.c_str());
  if (!t.ok()) std::printf("the launch fails, and the trace shows how far it came: %s\n", t.message.c_str());
  return t.ok() ? 0 : 1;
}

}  // namespace lab
