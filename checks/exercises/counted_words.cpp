#include "checks/exercises/counts.hpp"

#include <cstdio>
#include <vector>

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
    {"wmma-loads", Counted::wmma_load, &Tally::instructions},
    {"wmma-load-cycles", Counted::wmma_load, &Tally::wavefronts},
    {"copy-cycles", Counted::cp_async, &Tally::wavefronts},
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
    {"named-barriers", Counted::named_barrier, &Tally::instructions},
    {"cluster-barriers", Counted::cluster_barrier, &Tally::instructions},
    {"remote-stores", Counted::remote_store, &Tally::lanes},
    {"remote-bytes", Counted::remote_store, &Tally::bytes},
    {"stmatrix", Counted::stmatrix, &Tally::instructions},
    {"stmatrix-cycles", Counted::stmatrix, &Tally::wavefronts},
    {"tma-sectors", Counted::tma_load, &Tally::sectors},
    {"tma-stores", Counted::tma_store, &Tally::instructions},
    {"tma-stored-bytes", Counted::tma_store, &Tally::bytes},
};
// Of the words that events count, where their lines are found.
constexpr Word LINES_ONLY[] = {{"barriers", Counted::barrier, &Tally::instructions},
                               {"warp-barriers", Counted::syncwarp, &Tally::instructions},
                               {"copies", Counted::cp_async, &Tally::lanes},
                               {"tma-loads", Counted::tma_load, &Tally::instructions}};

// A word for events: how often, and of some how many bytes.
struct EventWord {
  ExecEvent::Kind kind;
  const char* each;
  const char* bytes = nullptr;
};
constexpr EventWord EVENTS[] = {{ExecEvent::Kind::read, "reads", "read-bytes"},
                                {ExecEvent::Kind::write, "writes", "written-bytes"},
                                {ExecEvent::Kind::copy, "copies"},
                                {ExecEvent::Kind::sync, "warp-barriers"},
                                {ExecEvent::Kind::release, "barriers"},
                                {ExecEvent::Kind::tma_issue, "tma-loads", "tma-bytes"},
                                {ExecEvent::Kind::mbarrier_complete, "phases"},
                                {ExecEvent::Kind::wgmma_issue, "wgmma"}};

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

}  // namespace

WordCounter::WordCounter() {
  for (const EventWord& word : EVENTS) {
    counts[word.each] = 0;
    if (word.bytes) counts[word.bytes] = 0;
  }
}

void WordCounter::see(const ExecEvent& e) {
  for (const EventWord& word : EVENTS)
    if (word.kind == e.kind) {
      ++counts[word.each];
      if (word.bytes) counts[word.bytes] += e.bytes;
    }
}

void WordCounter::add(const ExecReport& report) {
  for (const Word& word : WORDS)
    for (const CountedBlock& block : report.counted_blocks)
      counts[word.name] += long(block.tallies[std::size_t(word.what)].*word.figure);
  for (const Word& word : WORDS) dearest_lines[word.name] = dearest(report.counts, word);
  for (const Word& word : LINES_ONLY) dearest_lines[word.name] = dearest(report.counts, word);
}

void WordCounter::print() const {
  for (const auto& [what, count] : counts) std::printf("%s %ld\n", what.c_str(), count);
  for (const auto& [what, place] : dearest_lines)
    if (!place.empty()) std::printf("most %s %s\n", what.c_str(), place.c_str());
}

}  // namespace lab
