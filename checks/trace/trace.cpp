// runner KERNEL trace: one block's execution, or its cluster's, as a picture to look at in ui.perfetto.dev.
#include <cstdio>

#include "checks/acceptance/format.hpp"
#include "checks/acceptance/report.hpp"
#include "checks/acceptance/whole_file.hpp"
#include "checks/bench/shapes.hpp"
#include "checks/bugs/trial.hpp"
#include "checks/runner/commands.hpp"
#include "checks/trace/steps.hpp"

namespace lab {

// Chrome's trace events: a process for each block, a thread for each warp; a step stands as one microsecond, the unit of the format. Names
// are identifiers of a kernel and words of the lab: nothing in them needs an escape.
static std::string to_json(const trace::Picture& picture, const std::string& head) {
  std::string events;
  const auto event = [&](const std::string& one) { events += (events.empty() ? "{" : ",\n{") + one + "}"; };
  std::map<std::uint32_t, int> pids;
  for (const auto& [block, warps] : picture.warps) {
    const int pid = pids[block] = int(pids.size()) + 1;
    event(format(R"("ph":"M","pid":%d,"tid":0,"name":"process_name","args":{"name":"block %u"})", pid, block));
    for (int w = 0; w < warps; ++w)
      event(format(R"("ph":"M","pid":%d,"tid":%d,"name":"thread_name","args":{"name":"warp %d"})", pid, w, w));
  }
  for (const trace::Slice& s : picture.slices)
    event(format(R"("ph":"X","pid":%d,"tid":%d,"ts":%ld,"dur":%ld,"cat":"%s","name":"%s","args":{%s})", pids[s.block],
                 s.warp, s.begin, s.end - s.begin, s.kind.c_str(), s.name.c_str(), s.for_ever ? "\"for ever\":1" : ""));
  return head + "\"unit\":\"steps, not time: 1 us of the format is one step\",\n\"displayTimeUnit\":\"ns\",\n" +
         "\"traceEvents\":[\n" + events + "\n]}\n";
}

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
  write_whole(path,
              to_json(picture, format(R"({"stage":"%s","bug":"%s","shape":"%s","tile":%u,"steps":%ld,)", stage_name(),
                                      bug.empty() ? "none" : bug.c_str(), text(shape).c_str(), tile, picture.steps)));
  const char* const blocks = picture.warps.size() > 1 ? "blocks of a cluster" : "block";
  std::printf(
      "%s%s%s, %s, query tile %u: %zu %s, %ld steps (an order of events, not time), %zu slices\n"
      "  %s: open it in ui.perfetto.dev; writeups/the-emulator.md says how to read it\n",
      stage_name(), *planted_bug() ? " with " : "", planted_bug(), text(shape).c_str(), tile, picture.warps.size(),
      blocks, picture.steps, picture.slices.size(), path.c_str());
  if (!t.ok()) std::printf("the launch fails, and the trace shows how far it came: %s\n", t.message.c_str());
  return t.ok() ? 0 : 1;
}

}  // namespace lab
