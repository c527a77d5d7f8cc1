// runner KERNEL counters: what a GPU's counters would count of a launch, by the CPU execution: line by line, in all, and the
// least time that it can take on an H200.
#include <algorithm>
#include <cstdio>

#include "checks/acceptance/report.hpp"
#include "checks/bench/shapes.hpp"
#include "checks/bugs/trial.hpp"
#include "checks/counters/floor.hpp"
#include "checks/runner/commands.hpp"
#include "common/build_info.hpp"

namespace lab {
namespace {

constexpr const char* HOW_TO_READ =
    "An instruction is a place in the source that lanes of one warp pass together, at the width written\n"
    "there. nvcc may merge neighbours into one access or split one; sums, indices, conversions and branches\n"
    "are not counted. A wavefront is one cycle of the 32 banks; `at least`: if no two words collided.\n"
    "writeups/counters.md has more.\n";

// The cost of a line: the clocks of the unit that it keeps busy longest.
struct Cost {
  Unit unit{};
  double clocks = 0;
};
Cost cost_of(const CountedLine& line) {
  const auto busy = clocks(line.what, line.tally);
  const auto longest = std::ranges::max_element(busy);
  return {Unit(longest - busy.begin()), *longest};
}

// "1024 instructions, 4096 wavefronts (4096 would do), 16384 sectors".
std::string figures(const Tally& t) {
  std::string text = std::to_string(t.instructions) + (t.instructions == 1 ? " instruction" : " instructions");
  if (t.wavefronts) text += ", " + std::to_string(t.wavefronts) + " wavefronts";
  if (t.wavefronts != t.least) text += " (" + std::to_string(t.least) + " at least)";
  if (t.sectors) text += ", " + std::to_string(t.sectors) + " sectors";
  if (t.waited) text += ", " + std::to_string(t.waited) + " steps waited";
  return text;
}

std::string about(const CountedLine& line, const Cost& cost, double all) {
  std::string text = format("Line %d is the most expensive: it takes %.0f %% of all clocks of %s", line.line,
                            100 * cost.clocks / all, name(cost.unit));
  const Tally& t = line.tally;
  if (t.wavefronts > t.least)
    text += format("; its accesses take %.1f cycles at the banks where 1 would do: lanes collide",
                   double(t.wavefronts) / double(t.least));
  else if (t.instructions && t.lanes < t.instructions * 24 && line.what != Counted::tma_load &&
           line.what != Counted::tma_store)
    text += format("; %.0f of 32 lanes take part", double(t.lanes) / double(t.instructions));
  return text + ".";
}

// Rows of writeups/results/counters.csv: what of each kind was counted, then the floor of each unit.
void print_csv(const Shape& shape, const Tallies& all, const Floor& floor) {
  const auto row = [&](const char* what, const std::string& figures) {
    std::printf("%s,%d,%d,%d,%d,%d,%s,%s\n", stage_name(), shape.B, shape.H, shape.S, shape.D, shape.causal, what,
                figures.c_str());
  };
  for (std::size_t what = 0; what < COUNTED; ++what) {
    const Tally& t = all[what];
    std::string figures;
    for (const std::uint64_t n :
         {t.instructions, t.lanes, t.bytes, t.wavefronts, t.least, t.unavoidable, t.sectors, t.multiplies, t.waited})
      figures += std::to_string(n) + ",";
    if (t.instructions) row(name(Counted(what)), figures);
  }
  for (std::size_t unit = 0; unit < UNITS; ++unit) row(name(Unit(unit)), ",,,,,,,,," + format("%.3f", floor.us[unit]));
}

void print_lines(std::vector<CountedLine> lines, std::size_t most) {
  std::ranges::stable_sort(lines, std::greater(), [](const CountedLine& line) { return cost_of(line).clocks; });
  for (std::size_t i = 0; i < std::min(most, lines.size()); ++i) {
    const CountedLine& line = lines[i];
    const Cost cost = cost_of(line);
    std::printf("%s:%d: %s\n    %s: %s; %.0f clocks of %s\n", line.file.c_str(), line.line, line.text.c_str(),
                name(line.what), figures(line.tally).c_str(), cost.clocks, name(cost.unit));
  }
  if (lines.size() > most) std::printf("... and %zu more; lines=%zu shows all\n", lines.size() - most, lines.size());
  if (lines.empty()) return;
  const Cost dearest = cost_of(lines[0]);
  double all = 0;
  for (const CountedLine& line : lines) all += clocks(line.what, line.tally)[std::size_t(dearest.unit)];
  std::printf("%s\n", about(lines[0], dearest, all).c_str());
}

void print_floor(const Floor& floor) {
  const Rates rates;
  std::printf("\nAt least %.2f us on %s (%d multiprocessors at %.2f GHz), by %s.\n ", floor.least(), rates.name,
              rates.multiprocessors, rates.clocks_per_us / 1000, name(floor.binds));
  for (std::size_t unit = 0; unit < UNITS; ++unit)
    std::printf("%s %s %.2f us", unit ? "," : "", name(Unit(unit)), floor.us[unit]);
  std::printf("\n");
}

}  // namespace

int counters_command(std::span<char*> args) {
  constexpr std::string_view KEYS[] = {"shape", "csv", "lines"};
  const KeyValues words(args, KEYS);
  const Shape shape = one_shape(words.get("shape").value_or("1,8,512,64"));
  const std::size_t lines = words.whole("lines", 1'000'000, 1, 8);
  if (!can_check()) throw BadInput("this binary is not instrumented: nothing counts");
  const Trial t = run_trial(shape, Family::unit, {.count = true});
  if (!t.ok()) {
    std::printf("the launch fails: %s\n", t.message.c_str());
    return 1;
  }
  const Floor floor = floor_of(t.report.counted_blocks);
  const Tallies all = sum(t.report.counted_blocks);
  if (words.flag("csv")) {
    print_csv(shape, all, floor);
    return 0;
  }
  std::printf("%s%s%s, %s: all %zu blocks executed on the CPU, and counted\n\nThe most expensive lines:\n",
              stage_name(), planted_bug()[0] ? " with " : "", planted_bug(), text(shape).c_str(),
              t.report.counted_blocks.size());
  print_lines(t.report.counts, lines);
  std::printf("\nIn all:\n");
  for (std::size_t what = 0; what < COUNTED; ++what)
    if (all[what].instructions) std::printf("  %-16s %s\n", name(Counted(what)), figures(all[what]).c_str());
  std::uint64_t sectors = 0;
  for (const Tally& tally : all) sectors += tally.sectors;
  std::printf("  %.2f MB from and to the L2, if nothing hits in an L1\n", double(sectors) * 32 / 1e6);
  print_floor(floor);
  std::printf("\n%s", HOW_TO_READ);
  return 0;
}

}  // namespace lab
