// runner KERNEL trace: one block's execution, or its cluster's, as a picture to look at in ui.perfetto.dev.
#include <algorithm>
#include <cstdio>

#include "checks/acceptance/report.hpp"
#include "checks/acceptance/whole_file.hpp"
#include "checks/bench/shapes.hpp"
#include "checks/bugs/trial.hpp"
#include "checks/exercises/counts.hpp"
#include "checks/runner/commands.hpp"
#include "checks/trace/json.hpp"

namespace lab {
namespace {

// Counts that `make counters` and a trace both show.
constexpr const char* IN_BOTH[] = {"reads",    "read-bytes", "writes",    "written-bytes", "copies", "warp-barriers",
                                   "barriers", "tma-loads",  "tma-bytes", "phases",        "wgmma"};

// The first line in which they differ, of both; "" if in none.
std::string first_difference(const std::string& a, const std::string& b) {
  if (a == b) return "";
  const auto at = std::size_t(std::ranges::mismatch(a, b).in1 - a.begin());
  const auto line = [&](const std::string& text) {
    const std::size_t begin = text.rfind('\n', at) + 1;
    return text.substr(begin, text.find('\n', at) - begin);
  };
  return line(a) + " / " + line(b);
}

struct Traced {
  Trial trial;
  trace::Picture picture;
};
Traced traced_under(Schedule schedule, const Shape& shape, unsigned tile) {
  trace::Steps watcher;
  ExecOptions options;
  options.check = true, options.workers = 1, options.watcher = &watcher, options.schedule = schedule;
  options.copies = options.products = Copies::at_issue;  // what is sent lands while its sender's clock says when
  options.blocks = {tile * plan_of(shape).parts};
  const Trial t = run_trial(shape, Family::unit, options);
  return {t, watcher.picture(!t.ok())};
}

}  // namespace

int trace_command(std::span<char*> args) {
  constexpr std::string_view KEYS[] = {"shape", "tile", "json", "check"};
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

  const Traced traced = traced_under(Schedule::ascending, shape, tile);
  const Trial& t = traced.trial;
  const trace::Picture& picture = traced.picture;
  const trace::Head head{stage_name(), bug.empty() ? "none" : bug, text(shape), tile};
  const std::string whole = trace::to_json(picture, head);
  write_whole(path, whole);

  const char* const blocks = picture.warps.size() > 1 ? "blocks of a cluster" : "block";
  std::printf(
      "%s%s%s, %s, query tile %u: %zu %s, %ld steps (an order of events, not time), %zu slices, %zu copies and "
      "products in flight\n  %s: open it in ui.perfetto.dev; writeups/the-emulator.md says how to read it\n",
      stage_name(), *planted_bug() ? " with " : "", planted_bug(), text(shape).c_str(), tile, picture.warps.size(),
      blocks, picture.steps, picture.work.size() + picture.phases.size(), picture.flights.size(), path.c_str());
  if (!t.ok()) std::printf("the launch fails, and the trace shows how far it came: %s\n", t.message.c_str());
  if (!words.flag("check")) return t.ok() ? 0 : 1;

  std::map<std::string, long> counts;
  WordCounter counter;
  if (t.ok() && count_block(shape, tile, counter).empty())
    for (const char* what : IN_BOTH) counts[what] = counter.counts.at(what);
  std::vector<std::string> wrong = trace::wrong_with(picture, counts, !t.ok());
  for (const Schedule other : {Schedule::descending, Schedule::round_robin, Schedule::random})
    if (const std::string difference =
            t.ok() ? first_difference(whole, trace::to_json(traced_under(other, shape, tile).picture, head)) : "";
        !difference.empty())
      wrong.push_back(std::string("another picture under schedule ") + name(other) + ": " + difference);
  for (const std::string& line : wrong) std::printf("  %s\n", line.c_str());
  return wrong.empty() && t.ok() ? 0 : 1;
}

}  // namespace lab
