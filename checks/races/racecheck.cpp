// lab racecheck: runs the stage under the CPU checker and prints what it saw. Needs an instrumented kernel.
#include <cstdio>
#include <span>
#include <string_view>

#include "checks/acceptance/report.hpp"
#include "checks/acceptance/verdict.hpp"
#include "checks/races/racecheck.hpp"
#include "checks/runner/commands.hpp"
#include "common/hang.hpp"
#include "reference/attention.hpp"

namespace lab {
namespace {

// Lengths below a tile, inside one, at its end and past it; both head dimensions; causal and not. Small, because a race
// that needs many tiles to exist has not been met yet, and three K/V tiles go around every ring of slots. From 1024
// keys on there are three slots: of those long ones the first, the middle and the last query tile run. With 135 heads a
// stage may take another tile, for large grids: two blocks run.
constexpr Shape SHAPES[] = {{1, 1, 17, 64, false},    {1, 1, 64, 64, false},   {1, 2, 129, 64, true},
                            {1, 1, 200, 64, false},   {1, 1, 40, 128, true},   {1, 1, 100, 128, true},
                            {1, 1, 129, 128, false},  {1, 1, 1024, 64, true},  {1, 1, 1024, 128, false},
                            {1, 135, 200, 64, false}, {1, 135, 200, 128, true}};
// What `make stage=S test` has time for: a race that a rendezvous hides from the numbers shows here under any schedule.
constexpr Shape SHORT_SHAPES[] = {
    {1, 1, 40, 128, true}, {1, 1, 129, 64, false}, {1, 1, 1024, 64, true}, {1, 135, 200, 64, true}};
constexpr double LARGE_SCORES = 256;  // times the usual scale: then weights are infinite as floats
constexpr Schedule SHORT[] = {Schedule::ascending, Schedule::random};

std::string joined(const std::set<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

// The waits of a launch that hung, whichever thread reported it; "" if none hung. One finding and many failed launches
// are of the same hang.
std::string waits_of(const Hang& hang) {
  std::string waits;
  for (const Wait& wait : hang.waits) waits += data_of(wait) + "\n";
  return waits;
}

}  // namespace

void Told::add(const Observed& t, Schedule schedule, const std::string& failure) {
  ++launches_;
  if (!t.ok()) failures_.emplace(failure, waits_of(t.report.hang));
  refused_ |= t.launched != cudaSuccess;
  for (const Finding& f : t.findings) {
    Seen& seen = all_[f.key()];
    if (seen.schedules.empty() && f.kind == Finding::Kind::deadlock) told_hangs_.insert(waits_of(t.report.hang));
    const auto rank = [](const Finding& g) { return std::pair(g.same_value, g.kind); };
    Finding shown = seen.schedules.empty() || rank(f) < rank(seen.finding) ? f : seen.finding;
    for (const Finding* const other : {&f, &std::as_const(seen.finding)}) {
      shown.ways.insert(other->ways.begin(), other->ways.end());
      shown.kernels.insert(other->kernels.begin(), other->kernels.end());
    }
    seen.finding = std::move(shown);
    seen.schedules.insert(name(schedule));
    seen.shapes.insert(text(t.shape));
  }
}

int Told::report(const char* stage, const std::string& how, bool first_only) const {
  bool any = false;  // is printed
  for (const auto& [key, seen] : all_) {
    if (!first_only || !any)
      print_red(seen.finding.head + ways_text(seen.finding) + "\n    under " + joined(seen.schedules) + "; shapes " +
                joined(seen.shapes));
    any = true;
    say("tells", seen.finding.text), say("why", seen.finding.text);
    for (const std::string& way : seen.finding.ways) say("finding", way.substr(0, way.find(" (")));
  }
  if (refused_) say("finding", "launch refused");
  std::set<std::string> told_hangs = told_hangs_;
  for (const auto& [line, hang] : failures_) {
    say("tells", line);
    if ((!hang.empty() && !told_hangs.insert(hang).second) || (first_only && any)) continue;
    if (!any)
      print_red(line);
    else
      std::printf("%s\n", line.c_str());
    any = true;
  }
  const std::string summary = format("%s%s%s: %zu finding%s in %d launches (%s)", stage, *planted_bug() ? " with " : "",
                                     planted_bug(), all_.size(), all_.size() == 1 ? "" : "s", launches_, how.c_str());
  std::printf("%s\n", summary.c_str());
  say("remark", summary);
  return all_.empty() && failures_.empty() ? 0 : 1;
}

int racecheck_command(std::span<char*> args) {
  constexpr std::string_view keys[] = {"short", "first"};
  const KeyValues words(args, keys);
  const bool is_short = words.flag("short"), first_only = words.flag("first");
  if (!can_check()) throw BadInput("this binary is not instrumented: make stage=S racecheck builds one that is");
  Told told;
  const std::span<const Shape> shapes = is_short ? std::span<const Shape>(SHORT_SHAPES) : SHAPES;
  const std::span<const Schedule> schedules = is_short ? std::span<const Schedule>(SHORT) : SCHEDULES;
  const std::size_t steps = shapes.size() * schedules.size() * std::size(COPY_TIMES);
  Progress progress(steps, double(steps), true);
  for (const Shape& shape : shapes) {
    const LaunchPlan plan = stage().plan(shape);
    for (const Schedule schedule : schedules)
      for (const Copies copies : COPY_TIMES) {
        progress.start(text(shape));
        ExecOptions options;
        options.schedule = schedule, options.copies = copies, options.check = true, options.gaps = true;
        options.products = schedule == Schedule::random ? Copies::random : copies;  // of wgmma
        // Blocks with several pieces of work each, and not hundreds.
        if (plan.counts_multiprocessors && shape.S < 1024) options.multiprocessors = shape.H > 2 ? 32 : 1;
        if (shape.S >= 1024) {
          const std::uint32_t tiles = plan.grid.x;
          options.blocks = plan.blocks_of({0, tiles / 2, tiles - 1}, shape);
          if (is_short) options.blocks = plan.blocks_of({0, tiles - 1}, shape);  // under a mask the first costs little
        } else if (shape.H > 2) {
          options.blocks = {0, 1};
        }
        // A kernel may flip Q's sign where the scale is negative: once under each schedule is enough.
        // Long rows of scores far from each other make a kernel that is slow to rescale score a tile again.
        for (const double factor : {1.0, -1.0, LARGE_SCORES}) {
          if (factor < 0 && &shape != shapes.data()) continue;
          const bool some = schedule == Schedule::ascending || schedule == Schedule::random;
          if (factor > 1 && (shape.S < 1024 || copies != Copies::at_wait || !some)) continue;
          const Trial t = run_trial(shape, Family::unit, options, 1, factor * default_scale(shape.D));
          told.add(t, schedule, "launch failed: " + t.message);
        }
        progress.finish(1);
      }
  }
  return told.report(stage().name,
                     format("%zu shapes, one with a negative scale too, the long ones with large scores too, %zu "
                            "schedules, copies at the wait and at the issue",
                            shapes.size(), schedules.size()),
                     first_only);
}

}  // namespace lab
