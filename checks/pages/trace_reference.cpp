// lab trace-reference: the largest score of a row in each K/V tile, and whether the kernel scored the tile again, by
// mma.sync, because a weight might not have fitted (v3f and later). The figure of the lazily moved reference is drawn
// from it.
#include <algorithm>
#include <cmath>
#include <cstdio>
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

// The K tiles that a warp multiplies by mma.sync. A warp waits for each tile's k_full before it begins its products.
class ScoredAgain final : public ExecWatcher {
 public:
  explicit ScoredAgain(int warp) : warp_(warp) {}
  void see(const ExecEvent& e) override {
    if (e.warp != warp_) return;
    if (e.kind == ExecEvent::Kind::mbarrier_pass && std::string_view(e.array) == "k_full")
      passed_.insert({e.row, e.bytes});
    if (e.kind == ExecEvent::Kind::product) again.insert(int(passed_.size()) - 1);
  }
  std::set<int> again;

 private:
  int warp_;
  std::set<std::pair<int, int>> passed_;  // slot and phase: one for each tile
};

}  // namespace

int reference_command(std::span<char*> args) {
  constexpr std::string_view KEYS[] = {"shape", "amplitude", "row"};
  const KeyValues words(args, KEYS);
  const std::vector<Shape> shapes = bench_shapes(words.require("shape"));
  if (shapes.size() != 1) throw BadInput("shape= names one shape, such as 1,1,512,64,causal");
  const Shape& shape = shapes[0];
  const LaunchPlan plan = stage().plan(shape);
  const double row = double(words.number("row").value_or(0));
  if (row < 0 || row >= double(std::min(shape.S, plan.tile_m)) || row != double(int(row)))
    throw BadInput(format("row=%g: must be a whole number from 0 to %d", row, std::min(shape.S, plan.tile_m) - 1));
  if (!can_schedule()) throw BadInput("trace-reference runs on the CPU");
  if (std::ranges::find(plan.arrays, "k_full", &SharedArray::name) == plan.arrays.end())
    throw BadInput(std::string(stage_name()) + " has no mbarrier k_full: its tiles cannot be told apart");

  const double amplitude = double(words.number("amplitude").value_or(1));
  const double scale = default_scale(shape.D);
  Inputs in = make_inputs(Family::unit, shape, 1, {}, amplitude);
  std::vector<double> largest(std::size_t(visible_keys(shape, int(row)) + plan.tile_n - 1) / std::size_t(plan.tile_n),
                              -INFINITY);
  for (int key = 0; key < visible_keys(shape, int(row)); ++key) {
    double score = 0;
    for (int c = 0; c < shape.D; ++c)
      score += double(to_float(in.q[std::size_t(row) * std::size_t(shape.D) + std::size_t(c)])) *
               double(to_float(in.k[std::size_t(key) * std::size_t(shape.D) + std::size_t(c)]));
    double& most = largest[std::size_t(key / plan.tile_n)];
    most = std::max(most, score * scale);
  }
  ScoredAgain watcher(int(row) / plan.rows_per_warp);
  ExecOptions options;
  options.workers = 1, options.watcher = &watcher, options.blocks = {0};
  if (const Trial t = run_trial(shape, std::move(in), float(scale), options, Family::unit); !t.ok())
    throw std::runtime_error("the launch failed: " + t.message);

  std::printf("schema: reference-1\nstage: %s\nshape: %s\namplitude: %g\nrow: %d\nkeys per tile: %d\n", stage_name(),
              text(shape).c_str(), amplitude, int(row), plan.tile_n);
  std::printf("\ntile\tlargest score\tscored again\n");
  for (std::size_t tile = 0; tile < largest.size(); ++tile)
    std::printf("%zu\t%.4f\t%d\n", tile, largest[tile], int(watcher.again.contains(int(tile))));
  return 0;
}

}  // namespace lab
