#include "common/plan.hpp"

#include <stdexcept>

#include "common/target.hpp"

namespace lab {
namespace {

std::string no_tile(const Shape& shape) {
  return std::string(stage_name()) + " has no tile for D = " + std::to_string(shape.D);
}

}  // namespace

LaunchPlan::LaunchPlan() = default;
LaunchPlan::LaunchPlan(const LaunchPlan&) = default;
LaunchPlan::LaunchPlan(LaunchPlan&&) noexcept = default;
LaunchPlan& LaunchPlan::operator=(const LaunchPlan&) = default;
LaunchPlan& LaunchPlan::operator=(LaunchPlan&&) noexcept = default;
LaunchPlan::~LaunchPlan() = default;

SmemCount::SmemCount() = default;
SmemCount::~SmemCount() = default;

void SmemCount::add(const char* name, const char* type, int rows, int pitch, std::size_t size, std::size_t align) {
  arrays.push_back({name, type, rows, pitch, size});
  bytes = aligned_up(bytes, align) + size;
}

LaunchPlan plan_of(const TileNumbers& tile, const Shape& shape, int threads, const SmemCount& dynamic_smem,
                   const SmemCount& static_smem) {
  LaunchPlan plan;
  plan.tile_m = tile.m, plan.tile_n = tile.n, plan.rows_per_warp = tile.rows_per_warp, plan.slots = tile.slots;
  plan.grid = dim3((shape.S + tile.m - 1) / tile.m, shape.H, shape.B);
  plan.block = dim3(threads);
  plan.static_smem = static_smem.bytes, plan.dynamic_smem = dynamic_smem.bytes;
  plan.arrays = static_smem.arrays;
  plan.arrays.insert(plan.arrays.end(), dynamic_smem.arrays.begin(), dynamic_smem.arrays.end());
  return plan;
}

std::string attention_name(std::initializer_list<int> numbers) {
  std::string name = "attention<";
  for (const int number : numbers) name += std::to_string(number) + ',';
  name.back() = '>';
  return name;
}

cudaError_t check_budget(const char* kernel_name, std::size_t smem) {
  const Target& target = stage_target();
  if (smem <= target.smem_per_block) return cudaSuccess;
  set_launch_message(std::string(kernel_name) + ": invalid configuration argument: asks for " + std::to_string(smem) +
                     " B of shared memory a block, the " + target.name + " budget allows " +
                     std::to_string(target.smem_per_block) + " B");
  return cudaErrorInvalidConfiguration;
}

cudaError_t check_budget(const char* kernel_name, const LaunchPlan& plan) {
  if (const cudaError_t error = check_budget(kernel_name, plan.smem()); error != cudaSuccess) return error;
  if (plan.static_smem <= SMEM_WITHOUT_OPT_IN) return cudaSuccess;
  set_launch_message(std::string(kernel_name) + ": static shared memory ends at " +
                     std::to_string(SMEM_WITHOUT_OPT_IN) + " B");
  return cudaErrorInvalidConfiguration;
}

cudaError_t launch_by(std::span<const TileLauncher> tiles, const AttentionArgs& args) {
  for (const TileLauncher& tile : tiles)
    if (tile.takes(args.shape)) return tile.launch(args, tile.plan(args.shape));
  set_launch_message(no_tile(args.shape));
  return cudaErrorInvalidValue;
}

LaunchPlan plan_by(std::span<const TileLauncher> tiles, const Shape& shape) {
  for (const TileLauncher& tile : tiles)
    if (tile.takes(shape)) {
      LaunchPlan plan = tile.plan(shape);
      plan.tile = int(&tile - tiles.data());
      return plan;
    }
  throw std::invalid_argument(no_tile(shape));
}

}  // namespace lab
