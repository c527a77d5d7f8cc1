// lab trace-reference: the largest score of a row in each K/V tile, the row's reference after it, and what the row's warp
// did because a weight might not have fitted (v3f and later): nothing, raise the references, or score the tile again, by
// mma.sync. The figure of the lazily moved reference is drawn from it.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numbers>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "checks/acceptance/report.hpp"
#include "checks/bench/bench_samples.hpp"
#include "checks/bugs/trial.hpp"
#include "checks/commands.hpp"
#include "reference/attention.hpp"

namespace lab {
namespace {

// What a warp does with each K tile. It waits for the tile's k_full before it begins its products, and votes once more
// only if a lane's weights did not fit. In the first tile it has no reference yet.
class Moves final : public ExecWatcher {
 public:
  explicit Moves(int warp) : warp_(warp) {}
  void see(const ExecEvent& e) override {
    if (e.warp != warp_) return;
    if (e.kind == ExecEvent::Kind::mbarrier_pass && std::string_view(e.array) == "k_full")
      passed_.insert({e.row, e.bytes});
    const int tile = int(passed_.size()) - 1;
    if (e.kind == ExecEvent::Kind::vote && tile > 0 && e.bytes > 0) failed_.insert(tile);
    if (e.kind == ExecEvent::Kind::product) again.insert(tile);
  }
  std::set<int> again;
  bool raised(int tile) const { return failed_.contains(tile) && !again.contains(tile); }

 private:
  int warp_;
  std::set<int> failed_;                  // a vote said no
  std::set<std::pair<int, int>> passed_;  // slot and phase: one for each tile
};

}  // namespace

int reference_command(std::span<char*> args) {
  constexpr std::string_view KEYS[] = {"shape", "amplitude", "row"};
  const KeyValues words(args, KEYS);
  const Shape shape = one_shape(words.require("shape"));
  const LaunchPlan plan = stage().plan(shape);
  const int row = int(words.whole("row", std::uint64_t(std::min(shape.S, plan.tile_m) - 1)));
  if (!can_schedule()) throw BadInput("trace-reference runs on the CPU");
  if (std::ranges::find(plan.arrays, "k_full", &SharedArray::name) == plan.arrays.end())
    throw BadInput(std::string(stage_name()) + " has no mbarrier k_full: its tiles cannot be told apart");

  const double amplitude = double(words.number("amplitude").value_or(1));
  const double scale = default_scale(shape.D);
  Inputs in = make_inputs(Family::unit, shape, 1, {}, amplitude);
  const int keys = visible_keys(shape, row);
  std::vector<double> largest(std::size_t(keys + plan.tile_n - 1) / std::size_t(plan.tile_n), -INFINITY);
  std::vector<double> scores(std::size_t(keys), 0);
  const RowBlock one[] = {{0, row, 1}};
  for_rows(shape, in.q, in.k, in.v, one, nullptr, [&](const Head& head, int i, double*) {
    for (int key = 0; key < keys; ++key) {
      double& most = largest[std::size_t(key / plan.tile_n)];
      scores[std::size_t(key)] = scale * dot(head.q_row(i), head.k_row(key), head.D);
      most = std::max(most, scores[std::size_t(key)]);
    }
  });
  Moves watcher(row / plan.rows_per_warp);
  ExecOptions options;
  options.workers = 1, options.watcher = &watcher, options.blocks = {0};
  if (const Trial t = run_trial(shape, std::move(in), float(scale), options, Family::unit); !t.ok())
    throw std::runtime_error("the launch failed: " + t.message);

  std::printf("schema: reference-1\nstage: %s\nshape: %s\namplitude: %g\nrow: %d\nkeys per tile: %d\n", stage_name(),
              text(shape).c_str(), amplitude, row, plan.tile_n);
  std::printf("\ntile\tlargest score\tr\traised\tscored again\n");
  double r = largest[0];
  for (int tile = 0; tile < int(largest.size()); ++tile) {
    if (watcher.again.contains(tile)) r = std::max(r, largest[std::size_t(tile)]);
    if (watcher.raised(tile)) {
      double sum = 0;
      for (int key = tile * plan.tile_n; key < std::min(keys, (tile + 1) * plan.tile_n); ++key)
        sum += std::exp(scores[std::size_t(key)] - r);
      r += std::max(0, std::ilogb(sum)) * std::numbers::ln2;
    }
    std::printf("%d\t%.4f\t%.4f\t%d\t%d\n", tile, largest[std::size_t(tile)], r, int(watcher.raised(tile)),
                int(watcher.again.contains(tile)));
  }
  return 0;
}

}  // namespace lab
