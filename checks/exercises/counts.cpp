// lab counts: how often one block does what costs time, counted by the CPU execution: the figures that an exercise asks
// for before they are measured, and the bounds of those that ask for a kernel that does less.
#include "checks/exercises/counts.hpp"

#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "checks/acceptance/report.hpp"
#include "checks/bench/bench_samples.hpp"
#include "checks/bugs/trial.hpp"
#include "checks/commands.hpp"

namespace lab {
namespace {

class Counter final : public ExecWatcher {
 public:
  void see(const ExecEvent& e) override {
    using Kind = ExecEvent::Kind;
    switch (e.kind) {
      case Kind::read:
        ++counts["reads"], counts["read-bytes"] += e.bytes;
        break;
      case Kind::write:
        ++counts["writes"], counts["written-bytes"] += e.bytes;
        break;
      case Kind::copy:
        ++counts["copies"];
        break;
      case Kind::sync:
        ++counts["warp-barriers"];
        break;
      case Kind::release:
        ++counts["barriers"];
        break;
      case Kind::tma_issue:
        ++counts["tma-loads"], counts["tma-bytes"] += e.bytes;
        break;
      case Kind::mbarrier_complete:
        ++counts["phases"];
        break;
      case Kind::wgmma_issue:
        ++counts["wgmma"];
        break;
      default:
        break;
    }
  }
  std::map<std::string, long> counts = {{"reads", 0},         {"read-bytes", 0},    {"writes", 0},   {"copies", 0},
                                        {"written-bytes", 0}, {"warp-barriers", 0}, {"barriers", 0}, {"tma-loads", 0},
                                        {"tma-bytes", 0},     {"phases", 0},        {"wgmma", 0}};
};

// A word for what the counters count (common/counts.hpp): warps' instructions, their cycles at the banks, sectors.
struct Word {
  const char* name;
  Counted what;
  std::uint64_t Tally::*figure;
};
constexpr Word WORDS[] = {
    {"shared-loads", Counted::shared_load, &Tally::instructions},
    {"shared-load-turns", Counted::shared_load, &Tally::wavefronts},
    {"shared-stores", Counted::shared_store, &Tally::instructions},
    {"shared-store-turns", Counted::shared_store, &Tally::wavefronts},
    {"ldmatrix", Counted::ldmatrix, &Tally::instructions},
    {"ldmatrix-turns", Counted::ldmatrix, &Tally::wavefronts},
    {"wmma-loads", Counted::wmma_load, &Tally::instructions},
    {"wmma-load-turns", Counted::wmma_load, &Tally::wavefronts},
    {"copy-turns", Counted::cp_async, &Tally::wavefronts},
    {"copy-sectors", Counted::cp_async, &Tally::sectors},
    {"global-loads", Counted::global_load, &Tally::instructions},
    {"global-load-sectors", Counted::global_load, &Tally::sectors},
    {"global-stores", Counted::global_store, &Tally::instructions},
    {"global-store-sectors", Counted::global_store, &Tally::sectors},
    {"mma", Counted::mma, &Tally::instructions},
    {"wgmma-bytes", Counted::wgmma, &Tally::bytes},  // operands from shared memory
    {"exponentials", Counted::exponential, &Tally::instructions},
    {"shuffles", Counted::shuffle, &Tally::instructions},
    {"arrivals", Counted::mbarrier_arrive, &Tally::lanes},
};
// Of the Counter's words, where their lines are found.
constexpr Word LINES_ONLY[] = {{"barriers", Counted::barrier, &Tally::instructions},
                               {"warp-barriers", Counted::syncwarp, &Tally::instructions},
                               {"copies", Counted::cp_async, &Tally::lanes},
                               {"tma-loads", Counted::tma_load, &Tally::instructions}};

// The line that most of a word's count comes from; "" where two share that.
std::string dearest(const std::vector<CountedLine>& lines, const Word& word) {
  std::uint64_t most = 0;
  std::string place;
  for (const CountedLine& line : lines) {
    const std::uint64_t count = line.what == word.what ? line.tally.*word.figure : 0;
    if (count < most || count == 0) continue;
    place = count == most ? "" : line.file + ":" + std::to_string(line.line);
    most = count;
  }
  return place;
}

// Rows that another block owns must still hold the poison: else they were computed outside this launch's blocks.
std::string written_elsewhere(const Trial& t, unsigned tile) {
  const int per_head = (t.shape.S + t.plan.tile_m - 1) / t.plan.tile_m;
  const std::size_t head = tile / unsigned(per_head), first = tile % unsigned(per_head) * unsigned(t.plan.tile_m);
  for (std::size_t i = 0; i < t.out.size(); ++i) {
    const std::size_t row = i / std::size_t(t.shape.D), in_head = row % std::size_t(t.shape.S);
    const bool own =
        row / std::size_t(t.shape.S) == head && in_head >= first && in_head < first + unsigned(t.plan.tile_m);
    if (!own && t.out[i] != FP16_NAN)
      return format("one block was launched, and row %zu of head %zu, which is another's, was written all the same",
                    in_head, row / std::size_t(t.shape.S));
  }
  return "";
}

}  // namespace

BlockCounts count_block(const Shape& shape, unsigned tile) {
  const LaunchPlan plan = stage().plan(shape);
  Counter counter;
  ExecOptions options;
  options.check = options.count = true, options.workers = 1, options.watcher = &counter;
  options.blocks = plan.blocks_of({tile}, shape);
  const Trial t = run_trial(shape, Family::unit, options);
  if (!t.ok()) return {{}, {}, "the launch fails: " + t.message};
  if (const std::string stray = written_elsewhere(t, tile); !stray.empty()) return {{}, {}, stray};
  counter.counts["shared-bytes"] = long(plan.smem());
  counter.counts["threads"] = long(plan.block.x * plan.block.y * plan.block.z);
  counter.counts["blocks"] = long(plan.grid.x * plan.grid.y * plan.grid.z) * long(plan.parts);
  BlockCounts counted;
  for (const Word& word : WORDS) {
    std::uint64_t all = 0;  // of a cluster's blocks together
    for (const CountedBlock& block : t.report.counted_blocks) all += block.tallies[std::size_t(word.what)].*word.figure;
    counter.counts[word.name] = long(all);
    counted.dearest[word.name] = dearest(t.report.counts, word);
  }
  for (const Word& word : LINES_ONLY) counted.dearest[word.name] = dearest(t.report.counts, word);
  counted.counts = counter.counts;
  return counted;
}

int counts_command(std::span<char*> args) {
  constexpr std::string_view KEYS[] = {"shape", "tile"};
  const KeyValues words(args, KEYS);
  const std::vector<Shape> shapes = bench_shapes(words.require("shape"));
  if (shapes.size() != 1) throw BadInput("shape=: one shape is asked for");
  if (!can_check()) throw BadInput("this binary is not instrumented");
  const BlockCounts counted = count_block(shapes[0], unsigned(words.number("tile").value_or(0)));
  if (!counted.failure.empty()) {
    std::printf("%s\n", counted.failure.c_str());
    return 1;
  }
  for (const auto& [what, count] : counted.counts) std::printf("%s %ld\n", what.c_str(), count);
  for (const auto& [what, place] : counted.dearest)
    if (!place.empty()) std::printf("most %s %s\n", what.c_str(), place.c_str());
  return 0;
}

}  // namespace lab
