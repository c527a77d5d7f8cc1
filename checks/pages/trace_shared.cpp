// lab trace-shared: what one block does with its shared memory, as it happens on the CPU: who copies, waits, meets at a
// barrier, reads and writes, and where. The figures of pipelines, scratch rows and overlapping stripes are drawn from
// it. lab trace-waits: its asynchronous work, event by event, for the figure of who waits for whom.
#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "checks/acceptance/report.hpp"
#include "checks/acceptance/tiles.hpp"
#include "checks/bench/bench_samples.hpp"
#include "checks/bugs/fingerprint.hpp"
#include "checks/commands.hpp"

namespace lab {
namespace {

// In the order of ExecEvent::Kind.
constexpr const char* NAMES[] = {
    "read",           "write",         "copy",          "commit",          "wait",
    "sync",           "arrive",        "release",       "product",         "vote",
    "cluster_arrive", "cluster_pass",  "bar_arrive",    "bar_release",     "bar_pass",
    "tma_issue",      "tma_land",      "mbarrier_land", "mbarrier_arrive", "mbarrier_complete",
    "mbarrier_wait",  "mbarrier_pass", "wgmma_issue",   "wgmma_commit",    "wgmma_wait"};
static_assert(std::size(NAMES) == std::size_t(ExecEvent::Kind::wgmma_wait) + 1);
const char* name(ExecEvent::Kind kind) { return NAMES[std::size_t(kind)]; }

// Merges the events of a warp that come from one source line, within one period (between two block barriers) and with
// as many groups committed: a record a row of the trace, in the order of their first events.
class Trace final : public ExecWatcher {
 public:
  struct Record {
    ExecEvent first;
    int period, row_end, byte_end;  // rows first.row .. row_end and, of each, bytes first.byte .. byte_end, inclusive
    std::uint64_t events = 0;
  };

  void see(const ExecEvent& e) override {
    using Kind = ExecEvent::Kind;
    if (e.kind == Kind::product || e.kind == Kind::vote || e.kind == Kind::cluster_arrive ||
        e.kind == Kind::cluster_pass)
      return;
    const bool touches = e.kind == Kind::read || e.kind == Kind::write || e.kind == Kind::copy;
    int& commits = commits_[{e.warp, e.lane}];
    const auto key = std::tuple(period_, commits, e.warp, e.kind, std::string(e.array), e.line, e.bytes);
    const auto [entry, fresh] = index_.try_emplace(key, records_.size());
    if (fresh) records_.push_back({e, period_, e.row, e.byte + e.bytes - 1});
    Record& r = records_[entry->second];
    ++r.events;
    if (touches) {
      r.first.row = std::min(r.first.row, e.row), r.row_end = std::max(r.row_end, e.row);
      r.first.byte = std::min(r.first.byte, e.byte), r.byte_end = std::max(r.byte_end, e.byte + e.bytes - 1);
    }
    if (e.kind == Kind::commit) ++commits;
    if (e.kind == Kind::release) ++period_;
  }
  const std::vector<Record>& records() const { return records_; }

 private:
  int period_ = 0;  // block barriers passed
  std::map<std::pair<int, int>, int> commits_;
  std::map<std::tuple<int, int, int, ExecEvent::Kind, std::string, int, int>, std::size_t> index_;
  std::vector<Record> records_;
};

// The events of named barriers, mbarriers, the copy engine and products, in order. Merged into one each: the lanes of a
// warp that go on after a wait for an mbarrier's phase, and a warp's products of one group on one array. Left out: that
// a thread has to wait, which depends on the schedule, and where bytes count, which the completed phase says.
class WaitTrace final : public ExecWatcher {
 public:
  struct Record {
    ExecEvent event;
    int times = 1;
  };

  void see(const ExecEvent& e) override {
    using Kind = ExecEvent::Kind;
    if (e.kind < Kind::bar_arrive || e.kind == Kind::mbarrier_wait || e.kind == Kind::mbarrier_land) return;
    if (e.kind == Kind::mbarrier_pass || e.kind == Kind::wgmma_issue) {
      const bool product = e.kind == Kind::wgmma_issue;
      const auto key = std::tuple(e.kind, e.warp, std::string(e.array), product ? groups_[e.warp] : e.row, e.bytes);
      const auto [entry, fresh] = merged_.try_emplace(key, records_.size());
      if (!fresh) {
        ++records_[entry->second].times;
        return;
      }
    }
    if (e.kind == Kind::wgmma_commit) ++groups_[e.warp];
    records_.push_back({e});
  }
  const std::vector<Record>& records() const { return records_; }

 private:
  std::map<std::tuple<ExecEvent::Kind, int, std::string, int, int>, std::size_t> merged_;
  std::map<int, int> groups_;  // committed, by warp
  std::vector<Record> records_;
};

struct TracedBlock {
  Shape shape;
  LaunchPlan plan;
  std::uint32_t block;
  int multiprocessors;  // ExecOptions::multiprocessors
};

// The words shape=, block= and multiprocessors=; BadInput if they name no block.
TracedBlock traced_block(const KeyValues& words) {
  constexpr int MOST_MULTIPROCESSORS = 1024;
  const Shape shape = one_shape(words.require("shape"));
  const int counted = int(words.whole("multiprocessors", MOST_MULTIPROCESSORS));
  const LaunchPlan plan = plan_with(stage(), shape, counted);
  const auto blocks = std::uint64_t(plan.grid.x) * plan.grid.y * plan.grid.z;
  return {shape, plan, std::uint32_t(words.whole("block", blocks - 1)), counted};
}

void watch(const TracedBlock& traced, ExecWatcher& watcher, bool check) {
  ExecOptions options;
  options.check = check, options.workers = 1, options.watcher = &watcher, options.blocks = {traced.block};
  options.multiprocessors = traced.multiprocessors;
  const Trial t = run_trial(traced.shape, Family::unit, options);
  if (!t.ok()) throw std::runtime_error("the launch failed: " + t.message);
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> words(1);
  for (const char c : text) c == ',' ? words.emplace_back() : (words.back() += c, words.back());
  return words;
}

}  // namespace

int trace_shared_command(std::span<char*> args) {
  constexpr std::string_view KEYS[] = {"shape", "block", "arrays"};
  const KeyValues words(args, KEYS);
  const TracedBlock traced = traced_block(words);
  const auto& [shape, plan, block, multiprocessors] = traced;
  std::vector<std::string> arrays;
  if (const auto chosen = words.get("arrays")) arrays = split(*chosen);
  for (const std::string& array : arrays)
    if (std::ranges::find(plan.arrays, array, &SharedArray::name) == plan.arrays.end()) {
      std::string known;
      for (const SharedArray& a : plan.arrays) known += " " + a.name;
      throw BadInput("arrays=: the plan has no array '" + array + "'; it has" + known);
    }
  if (!can_check())
    throw BadInput("this binary is not instrumented: trace-shared runs in a checked or a bug build on the CPU");

  Trace trace;
  watch(traced, trace, true);

  std::printf(
      "schema: trace-shared-1\nstage: %s\nbug: %s\nshape: %s\nblock: %u\nrows: %d per block, %d per warp\nkeys per "
      "tile: %d\nslots: %d\n",
      stage_name(), *planted_bug() ? planted_bug() : "none", text(shape).c_str(), unsigned(block), plan.tile_m,
      plan.rows_per_warp, plan.tile_n, plan.slots);
  for (const SharedArray& a : plan.arrays)
    if (arrays.empty() || std::ranges::find(arrays, a.name) != arrays.end())
      std::printf("array %s: %s, %d rows of %d\n", a.name.c_str(), a.type.c_str(), a.rows, a.pitch);
  std::printf("\nperiod\twarp\tevent\tarray\tfirst row\tlast row\tfirst byte\tlast byte\tbytes each\tevents\n");
  for (const Trace::Record& r : trace.records()) {
    const ExecEvent& e = r.first;
    using Kind = ExecEvent::Kind;
    const bool touches = e.kind == Kind::read || e.kind == Kind::write || e.kind == Kind::copy;
    if (touches && !arrays.empty() && std::ranges::find(arrays, e.array) == arrays.end()) continue;
    std::printf("%d\t%d\t%s", r.period, e.warp, name(e.kind));
    if (touches)
      std::printf("\t%s\t%d\t%d\t%d\t%d\t%d\t%llu", e.array, e.row, r.row_end, e.byte, r.byte_end, e.bytes,
                  (unsigned long long)r.events);
    else
      std::printf("\t\t\t\t\t\t%d\t%llu", e.bytes, (unsigned long long)r.events);
    std::printf("\n");
  }
  return 0;
}

int trace_waits_command(std::span<char*> args) {
  constexpr std::string_view KEYS[] = {"shape", "block", "multiprocessors"};
  const TracedBlock traced = traced_block(KeyValues(args, KEYS));
  const auto& [shape, plan, block, multiprocessors] = traced;
  if (!can_schedule()) throw BadInput("trace-waits runs on the CPU");
  WaitTrace trace;
  watch(traced, trace, false);
  if (trace.records().empty())
    throw BadInput(std::string(stage_name()) + " has no named barrier, no mbarrier and no asynchronous product");

  std::printf("schema: trace-waits-1\nstage: %s\nbug: %s\nshape: %s\nblock: %u\nkeys per tile: %d\nslots: %d\n",
              stage_name(), *planted_bug() ? planted_bug() : "none", text(shape).c_str(), unsigned(block), plan.tile_n,
              plan.slots);
  for (const SharedArray& a : plan.arrays)
    std::printf("array %s: %s, %d rows of %d\n", a.name.c_str(), a.type.c_str(), a.rows, a.pitch);
  std::printf("\nwarp\tevent\tarray\trow\tnumber\ttimes\n");
  for (const auto& [e, times] : trace.records())
    std::printf("%d\t%s\t%s\t%d\t%d\t%d\n", e.warp, name(e.kind), e.array, e.row, e.bytes, times);
  return 0;
}

}  // namespace lab
