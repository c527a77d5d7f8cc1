#include <cstdio>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "checks/acceptance/format.hpp"
#include "checks/acceptance/launch.hpp"
#include "checks/acceptance/report.hpp"
#include "checks/acceptance/sampling.hpp"
#include "checks/acceptance/verdict.hpp"
#include "checks/runner/commands.hpp"
#include "common/hang.hpp"
#include "reference/attention.hpp"

namespace lab {
namespace {

struct RaceProblem {
  Shape shape;
  double dout = 1;  // what multiplies dO
};

// Lengths below a tile, inside one, at its end and past it; both head dimensions; causal and not. Small, because a race
// that needs many tiles to exist has not been met yet, and three K/V tiles go around every ring of slots. From 1024
// keys on there are three slots: of those long ones the first, the middle and the last block run. With 135 heads a
// stage may take a different instance, for large grids: two blocks run. Where it counts multiprocessors, a quarter of
// the heads on 8 of them is the same to it, and two blocks that draw all the work do not take long.
constexpr RaceProblem FORWARD_RACES[] = {
    {{1, 1, 17, 64, false}},    {{1, 1, 64, 64, false}},    {{1, 2, 129, 64, true}},   {{1, 1, 200, 64, false}},
    {{1, 2, 40, 128, true}},    {{1, 1, 100, 128, true}},   {{1, 1, 129, 128, false}}, {{1, 1, 1024, 64, true}},
    {{1, 1, 1024, 128, false}}, {{1, 135, 200, 64, false}}, {{1, 135, 200, 128, true}}};
// One row, where whatever is read past it lies outside the workspace; the last of those before dO grows has four tiles.
constexpr double NEEDS_UNIT =
    1e4;  // dO times this: then dS may be beyond the largest half, and stages take another path
constexpr RaceProblem BACKWARD_RACES[] = {{{1, 1, 1, 64, false}},
                                          {{1, 1, 17, 64, false}},
                                          {{1, 1, 64, 64, false}},
                                          {{1, 2, 100, 64, true}},
                                          {{1, 1, 40, 128, true}},
                                          {{1, 1, 100, 128, false}},
                                          {{1, 1, 200, 128, true}},
                                          {{1, 1, 200, 64, false}, NEEDS_UNIT},
                                          {{1, 1, 200, 128, true}, NEEDS_UNIT}};
// Those of `make stage=S test`: a race that a rendezvous hides from the numbers shows here under any schedule. Two heads: on
// one multiprocessor a block has two pieces of work, and a single group to do them.
constexpr RaceProblem SHORT_RACES[] = {
    {{1, 2, 40, 128, true}}, {{1, 1, 129, 64, false}}, {{1, 1, 1024, 64, true}}, {{1, 135, 200, 64, true}}};
// The second and third have more than one tile of each stage.
constexpr RaceProblem SHORT_BACKWARD_RACES[] = {
    {{1, 1, 40, 64, true}}, {{1, 1, 140, 128, false}}, {{1, 1, 140, 128, false}, NEEDS_UNIT}};
constexpr double LARGE_SCORES = 256;  // times the usual scale: then weights are infinite as floats
constexpr Schedule SHORT_SCHEDULES[] = {Schedule::ascending, Schedule::random};

// Which blocks run, of how many multiprocessors.
void choose_blocks(const Subject& subject, Shape& shape, bool is_short, ExecOptions& options) {
  const Grid grid = grid_of(subject, shape);
  const bool many = shape.H > 2;
  // Blocks with several pieces of work each, and not hundreds.
  const int few = many ? 8 : 1;
  if (shape.S < 1024 && grid_of(subject, shape, few) != grid) {
    options.multiprocessors = few;
    if (many) shape.H /= 4;
  }
  if (shape.S >= 1024 && grid.independent) {
    const std::uint32_t last = grid.units - 1;
    options.blocks = grid.blocks(is_short ? std::vector{0u, last} : std::vector{0u, grid.units / 2, last});
  } else if (many) {
    options.blocks = {0, 1};
  }
}

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

// The findings and failures of many launches under the checker.
class RaceReport {
 public:
  void add(const Ran& launch, Schedule schedule);
  bool red() const { return !all_.empty() || !failures_.empty(); }
  // Prints each finding once, with the schedules and shapes under which it was seen, and each failure. The last line is the
  // count, and `how` in parentheses. The exit status.
  int finish(const std::string& how) const;

 private:
  struct Seen {
    Finding finding;
    std::set<std::string> schedules, shapes;
  };
  std::map<Finding::Key, Seen> all_;
  std::map<std::string, std::string> failures_;  // what is said -> what the launch waits for, if it hung
  std::set<std::string> hangs_;                  // of findings
  int launches_ = 0, failed_ = 0, not_taken_ = 0;
};

void RaceReport::add(const Ran& t, Schedule schedule) {
  if (t.launched == cudaErrorNotSupported) {
    ++not_taken_;
    return;
  }
  ++launches_;
  failed_ += !t.ok();
  if (!t.ok()) failures_.emplace("launch failed: " + t.message, waits_of(t.report.hang));
  for (const Finding& f : t.findings) {
    Seen& seen = all_[f.key()];
    if (seen.schedules.empty() && f.kind == Finding::Kind::deadlock) hangs_.insert(waits_of(t.report.hang));
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

int RaceReport::finish(const std::string& how) const {
  bool any = false;  // is printed
  for (const auto& [key, seen] : all_) {
    print_red(seen.finding.head + ways_text(seen.finding) + "\n    under " + joined(seen.schedules) + "; shapes " +
              joined(seen.shapes));
    any = true;
    record("tells", seen.finding.text);
  }
  std::set<std::string> told = hangs_;
  for (const auto& [line, hang] : failures_) {
    record("tells", line);
    if (!hang.empty() && !told.insert(hang).second) continue;
    if (!any)
      print_red(line);
    else
      std::printf("%s\n", line.c_str());
    any = true;
  }
  std::printf("%s%s%s: %zu finding%s in %d launches%s (%s)\n", stage_name(), *planted_bug() ? " with " : "",
              planted_bug(), all_.size(), all_.size() == 1 ? "" : "s", launches_,
              ((failed_ ? format(", of which %d failed", failed_) : "") +
               (not_taken_ ? format(", and %d that the kernel does not take", not_taken_) : ""))
                  .c_str(),
              how.c_str());
  if (launches_ == 0) std::printf("no launch was checked: the kernel takes none of these shapes\n");
  return red() || launches_ == 0;
}

}  // namespace

// racecheck [short=1] [first=1]: runs the stage under the CPU checker and prints what it saw. Needs an instrumented kernel. first=1: one
// finding is enough, and no launch comes after it.
int racecheck_command(std::span<char*> args) {
  const Subject& subject = lab::subject();
  constexpr std::string_view keys[] = {"short", "first"};
  const KeyValues words(args, keys);
  const bool is_short = words.flag("short"), first_only = words.flag("first");
  if (!can_check()) throw BadInput("this binary is not instrumented: make stage=S racecheck builds one that is");
  RaceReport report;
  using Problems = std::span<const RaceProblem>;
  const Problems problems = subject.backward ? (is_short ? Problems(SHORT_BACKWARD_RACES) : BACKWARD_RACES)
                                             : (is_short ? Problems(SHORT_RACES) : FORWARD_RACES);
  const std::span<const Schedule> schedules = is_short ? std::span<const Schedule>(SHORT_SCHEDULES) : SCHEDULES;
  const std::size_t steps = problems.size() * schedules.size() * (subject.backward ? 1 : std::size(COPY_TIMES));
  Progress progress(steps, double(steps), true);
  const auto enough = [&] { return first_only && report.red(); };
  for (const RaceProblem& problem : problems) {
    if (enough()) break;
    Shape shape = problem.shape;
    Launching how;
    ExecOptions& options = how.options;
    options.check = options.gaps = true;
    if (subject.backward)
      options.workers = 1;
    else
      choose_blocks(subject, shape, is_short, options);
    Case test{Group::ragged, shape, Family::unit, 1};
    test.magnitudes.dout = problem.dout;
    const Inputs in = problem_of(subject, test).in;
    // The same memory for all launches of a problem: what the checker remembers of it takes longer to map than to check.
    Tensors tensors(subject, in, false);
    for (const Schedule schedule : schedules)
      for (const Copies copies : COPY_TIMES) {
        if ((subject.backward && copies != Copies::at_wait) || enough()) continue;
        progress.start(text(shape));
        options.schedule = schedule, options.copies = copies;
        if (subject.backward)
          options.block_order = std::uint64_t(schedule);  // a different one for each schedule
        else
          options.products = schedule == Schedule::random ? Copies::random : copies;  // of wgmma
        // Long rows of scores far from each other make a kernel that is slow to rescale score a tile again.
        for (const double factor : {1.0, LARGE_SCORES}) {
          if (factor != 1 && subject.backward) continue;
          const bool some = schedule == Schedule::ascending || schedule == Schedule::random;
          if (factor > 1 && (shape.S < 1024 || copies != Copies::at_wait || !some)) continue;
          report.add(tensors.launch(shape, float(factor * default_scale(shape.D)), how), schedule);
        }
        progress.finish(1);
      }
  }
  return report.finish(format("%zu %s, ", problems.size(), subject.backward ? "problems" : "shapes") +
                       (subject.backward
                            ? format("%zu schedules with an order of blocks each", schedules.size())
                            : format("the long ones with large scores too, %zu schedules, copies at the wait and at "
                                     "the issue",
                                     schedules.size())));
}

}  // namespace lab
