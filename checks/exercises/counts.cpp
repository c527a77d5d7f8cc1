// runner KERNEL counts: how often one block does what costs time, counted by the CPU execution: the figures that an exercise asks
// for before they are measured, and the bounds of those that ask for a kernel that does less.
#include "checks/exercises/counts.hpp"

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "checks/acceptance/comparison.hpp"
#include "checks/acceptance/format.hpp"
#include "checks/acceptance/same_bits.hpp"
#include "checks/bench/shapes.hpp"
#include "checks/bugs/trial.hpp"
#include "checks/runner/commands.hpp"

namespace lab {
namespace {

// A word for what the counters count (common/counts.hpp): warps' instructions, their cycles at the banks, sectors.
struct Word {
  const char* name;
  Counted what;
  std::uint64_t Tally::*figure;
};
constexpr Word WORDS[] = {
    {"shared-loads", Counted::shared_load, &Tally::instructions},
    {"shared-load-cycles", Counted::shared_load, &Tally::wavefronts},
    {"shared-stores", Counted::shared_store, &Tally::instructions},
    {"shared-store-cycles", Counted::shared_store, &Tally::wavefronts},
    {"ldmatrix", Counted::ldmatrix, &Tally::instructions},
    {"ldmatrix-cycles", Counted::ldmatrix, &Tally::wavefronts},
    {"copies", Counted::cp_async, &Tally::lanes},
    {"global-load-sectors", Counted::global_load, &Tally::sectors},
    {"global-stores", Counted::global_store, &Tally::instructions},
    {"global-store-sectors", Counted::global_store, &Tally::sectors},
    {"mma", Counted::mma, &Tally::instructions},
    {"wgmma", Counted::wgmma, &Tally::instructions},
    {"wgmma-bytes", Counted::wgmma, &Tally::bytes},  // operands from shared memory
    {"exponentials", Counted::exponential, &Tally::instructions},
    {"warp-barriers", Counted::syncwarp, &Tally::instructions},
    {"shuffles", Counted::shuffle, &Tally::instructions},
    {"arrivals", Counted::mbarrier_arrive, &Tally::lanes},
    {"named-barriers", Counted::named_barrier, &Tally::instructions},
    {"cluster-barriers", Counted::cluster_barrier, &Tally::instructions},
    {"remote-bytes", Counted::remote_store, &Tally::bytes},
    {"stmatrix", Counted::stmatrix, &Tally::instructions},
    {"stmatrix-cycles", Counted::stmatrix, &Tally::wavefronts},
    {"tma-loads", Counted::tma_load, &Tally::instructions},
    {"tma-bytes", Counted::tma_load, &Tally::bytes},
    {"tma-sectors", Counted::tma_load, &Tally::sectors},
    {"tma-stores", Counted::tma_store, &Tally::instructions},
};
// A word that events count, where its lines are found.
constexpr Word BARRIERS = {"barriers", Counted::barrier, &Tally::instructions};

}  // namespace

void WordCounter::see(const ExecEvent& e) {
  counts["barriers"] += e.kind == ExecEvent::Kind::release;
  counts["phases"] += e.kind == ExecEvent::Kind::mbarrier_complete;
}

void WordCounter::print(const ExecReport& report) {
  for (const Word& word : WORDS)
    for (const CountedBlock& block : report.counted_blocks)
      counts[word.name] += long(block.tallies[std::size_t(word.what)].*word.figure);
  for (const auto& [what, count] : counts) std::printf("%s %ld\n", what.c_str(), count);
  std::vector<Word> words(std::begin(WORDS), std::end(WORDS));
  words.push_back(BARRIERS);
  for (const Word& word : words) {
    std::uint64_t most = 0;
    const CountedLine* dearest = nullptr;
    for (const CountedLine& line : report.counts) {
      const std::uint64_t count = line.what == word.what ? line.tally.*word.figure : 0;
      if (count < most || count == 0) continue;
      dearest = count == most ? nullptr : &line;
      most = count;
    }
    if (dearest) std::printf("most %s %s:%d\n", word.name, dearest->file.c_str(), dearest->line);
  }
}

// Counts the work of one block, or cluster; backward, of the first of each kernel.
int counts_command(std::span<char*> args) {
  constexpr std::string_view KEYS[] = {"shape"};
  const Shape shape = one_shape(KeyValues(args, KEYS).require("shape"));
  if (!can_check()) throw BadInput("this binary is not instrumented");
  const auto fails = [](const std::string& why) { return std::printf("%s\n", why.c_str()), 1; };
  const LaunchPlan plan = plan_of(shape);
  WordCounter counter;
  const ExecOptions options{.workers = 1, .check = true, .count = true, .watcher = &counter, .blocks = {0}};
  const Trial t = run_trial(shape, Family::unit, options);
  if (!t.ok()) return fails("the launch fails: " + t.message);
  if (subject().backward) {  // the first block of each kernel, which between them write some of the gradients
    std::size_t written = 0;
    for (const std::vector<fp16>& gradient : t.outputs)
      written += gradient.size() - std::ranges::count(gradient, FP16_NAN);
    if (const std::size_t all = 3 * shape.elements(); written > all / 2)
      return fails(format("one block of each kernel ran, and %zu of %zu gradients were written", written, all));
    counter.counts["different-outputs"] = long(count_outputs(subject(), shape).outputs);  // in several orders of blocks
  } else {
    // Rows of other blocks must still hold the poison: what wrote them is no block of this launch.
    const std::vector<RowBlock> rows = written_rows(shape, t.outputs[0]);
    if (rows.size() > 1 || (!rows.empty() && rows[0].rows > plan.tile_m))
      return fails(
          format("one block was launched: it wrote %zu stretches of rows, the first of %d", rows.size(), rows[0].rows));
    counter.counts["shared-bytes"] = long(plan.smem);
    counter.counts["threads"] = long(plan.block.x * plan.block.y * plan.block.z);
    counter.counts["blocks"] = long(plan.grid.x * plan.grid.y * plan.grid.z) * long(plan.parts);
  }
  counter.print(t.report);
  return 0;
}

}  // namespace lab
