#include "checks/acceptance/tiles.hpp"

#include <algorithm>

#include "checks/acceptance/format.hpp"
#include "common/backend.hpp"

namespace lab {
namespace {

constexpr int STEP = 64, STEPS = 18;  // lengths: multiples of STEP
constexpr int SHORT_OF = 14;          // and lengths that end this number of rows earlier
constexpr int FEW_STEPS = 2;          // of problems with many heads
// 135 blocks fill an H200, and under a causal mask twice as many (common/fills_a_gpu.hpp).
constexpr int HEADS[] = {1, 135, 270};
constexpr int MULTIPROCESSORS[] = {1, 132};

double cost(const Shape& shape) { return double(shape.elements()) * shape.S * (shape.causal ? 0.5 : 1); }

std::vector<TileProblem> candidates() {
  std::vector<TileProblem> all;
  for (const int heads : HEADS)
    for (int step = 1; step <= (heads == 1 ? STEPS : FEW_STEPS); ++step)
      for (const int S : {STEP * step - SHORT_OF, STEP * step})
        for (const int D : {64, 128})
          for (const bool causal : {false, true})
            for (const int multiprocessors : MULTIPROCESSORS)
              all.push_back({{1, heads, S, D, causal}, multiprocessors});
  std::ranges::stable_sort(all, {}, [](const TileProblem& p) { return cost(p.shape); });
  return all;
}

std::string name_of(const LaunchPlan& plan) {
  const std::string tile = format("%dx%d, %d slots", plan.tile_m, plan.tile_n, plan.slots);
  return format("tile %d, %s", plan.tile, (plan.kernel.empty() ? tile : plan.kernel).c_str());
}

}  // namespace

std::optional<TileUse> use_of(const Shape& shape, const LaunchPlan& plan) {
  const bool whole_queries = shape.S % plan.tile_m == 0, whole_keys = shape.S % plan.tile_n == 0;
  if (whole_queries != whole_keys) return std::nullopt;
  return TileUse{plan.tile, shape.causal, !whole_keys};
}

LaunchPlan plan_with(const StageInfo& stage, const Shape& shape, int multiprocessors) {
  const ExecOptions before = exec_options();
  ExecOptions options;
  options.multiprocessors = multiprocessors;
  set_exec_options(options);
  LaunchPlan plan = stage.plan(shape);
  set_exec_options(before);
  return plan;
}

std::map<TileUse, TileProblem> tile_problems(const StageInfo& stage) {
  std::map<TileUse, TileProblem> problems;
  for (const TileProblem& p : candidates()) {
    const LaunchPlan plan = plan_with(stage, p.shape, p.multiprocessors);
    if (const auto use = use_of(p.shape, plan))
      problems.try_emplace(*use, TileProblem{p.shape, plan.counts_multiprocessors ? p.multiprocessors : 0});
  }
  return problems;
}

std::vector<std::string> left_out(const StageInfo& stage, const std::set<TileUse>& ran) {
  std::vector<std::string> lines;
  std::vector<bool> found(std::size_t(stage.tiles));
  for (const auto& [use, problem] : tile_problems(stage)) {
    found[std::size_t(use.tile)] = true;
    if (!ran.contains(use))
      lines.push_back(name_of(plan_with(stage, problem.shape, problem.multiprocessors)) + ": not run" +
                      (use.causal ? ", causal" : "") + (use.ragged ? ", on a ragged length" : ", on a whole length"));
  }
  for (std::size_t tile = 0; tile < found.size(); ++tile)
    if (!found[tile]) lines.push_back(format("tile %zu: the launcher chooses it for no problem that was tried", tile));
  return lines;
}

}  // namespace lab
