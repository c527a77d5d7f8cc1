// lab trace-reference: the largest score of a row in each K/V tile, the row's reference after it, and what the row's warp
// did because a weight might not have fitted (v3f and later): nothing, raise the references, or score the tile again, by
// mma.sync. The figure of the lazily moved reference is drawn from it.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numbers>
#include <numeric>
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

// A warp's way through its K tiles. It waits for a tile's k_full before it begins the products. Then it votes whether all
// lanes' weights fit. In the first tile it has no reference yet, and no vote counts.
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
  std::vector<double> scores(std::size_t(keys), 0);
  const RowBlock one[] = {{0, row, 1}};
  for_rows(shape, in.q, in.k, in.v, one, nullptr, [&](const Head& head, int i, double*) {
    for (int key = 0; key < keys; ++key) scores[std::size_t(key)] = scale * dot(head.q_row(i), head.k_row(key), head.D);
  });
  Moves watcher(row / plan.rows_per_warp);
  ExecOptions options;
  options.workers = 1, options.watcher = &watcher, options.blocks = {0};
  if (const Trial t = run_trial(shape, std::move(in), float(scale), options, Family::unit); !t.ok())
    throw std::runtime_error("the launch failed: " + t.message);

  std::printf("schema: reference-1\nstage: %s\nshape: %s\namplitude: %g\nrow: %d\nkeys per tile: %d\n", stage_name(),
              text(shape).c_str(), amplitude, row, plan.tile_n);
  std::printf("\ntile\tlargest score\tsum of weights\tr\traised\tscored again\n");
  double r = -INFINITY;
  for (int tile = 0; tile * plan.tile_n < keys; ++tile) {
    const auto first = scores.begin() + tile * plan.tile_n,
               last = scores.begin() + std::min(keys, (tile + 1) * plan.tile_n);
    const double largest = *std::max_element(first, last);
    const bool again = watcher.again.contains(tile), raised = watcher.raised(tile);
    if (tile == 0 || again) r = std::max(r, largest);
    // Relative to the reference that the tile meets; in tile 0, to the tile's largest score.
    const double sum =
        std::accumulate(first, last, 0.0, [r](double s, double score) { return s + std::exp(score - r); });
    if (raised) r += std::max(0, std::ilogb(sum)) * std::numbers::ln2;
    std::printf("%d\t%.4f\t%.4g\t%.4f\t%d\t%d\n", tile, largest, sum, r, int(raised), int(again));
  }
  return 0;
}

}  // namespace lab
