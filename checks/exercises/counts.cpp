// lab counts: how often one block does what costs time, counted by the CPU execution: the figures that an exercise asks
// for before they are measured, and the bounds of those that ask for a kernel that does less.
#include "checks/exercises/counts.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <string>

#include "checks/acceptance/report.hpp"
#include "checks/bench/bench_samples.hpp"
#include "checks/bugs/trial.hpp"
#include "checks/commands.hpp"
#include "checks/pages/banks.hpp"

namespace lab {
namespace {

class Counter final : public ExecWatcher {
 public:
  explicit Counter(const LaunchPlan& plan) : plan_(plan) {}

  void see(const ExecEvent& e) override {
    using Kind = ExecEvent::Kind;
    if (e.kind != Kind::read || e.bytes != 16) lane_ = 0;
    switch (e.kind) {
      case Kind::read:
        if (e.bytes == 16) row_of_ldmatrix(e);
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
                                        {"tma-bytes", 0},     {"phases", 0},        {"wgmma", 0},    {"ldmatrix", 0},
                                        {"ldmatrix-turns", 0}};

 private:
  // The execution tells of an ldmatrix.x4's 32 rows one after the other, in the order of the lanes; a row takes as many
  // turns at the banks as others want them (checks/pages/banks.hpp).
  void row_of_ldmatrix(const ExecEvent& e) {
    const auto array = std::ranges::find(plan_.arrays, e.array, &SharedArray::name);
    if (e.lane != lane_) lane_ = 0;
    if (e.lane != lane_ || array == plan_.arrays.end()) return;
    address_[std::size_t(lane_)] = e.row * array->pitch * int(sizeof(fp16)) + e.byte;
    if (++lane_ < banks::LANES) return;
    lane_ = 0;
    ++counts["ldmatrix"], counts["ldmatrix-turns"] += banks::access(address_, 16).turns;
  }

  const LaunchPlan& plan_;
  int lane_ = 0;
  std::array<int, banks::LANES> address_{};
};

// Rows that another block owns must still hold the poison: else somebody computes who is no block of this launch.
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
  Counter counter(plan);
  ExecOptions options;
  options.check = true, options.workers = 1, options.watcher = &counter;
  options.blocks = plan.blocks_of({tile}, shape);
  const Trial t = run_trial(shape, Family::unit, options);
  if (!t.ok()) return {{}, "the launch fails: " + t.message};
  if (const std::string stray = written_elsewhere(t, tile); !stray.empty()) return {{}, stray};
  counter.counts["shared-bytes"] = long(plan.smem());
  counter.counts["threads"] = long(plan.block.x * plan.block.y * plan.block.z);
  counter.counts["blocks"] = long(plan.grid.x * plan.grid.y * plan.grid.z) * long(plan.parts);
  return {counter.counts, ""};
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
  return 0;
}

}  // namespace lab
