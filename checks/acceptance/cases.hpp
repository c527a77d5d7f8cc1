// Which problems the acceptance poses, and which query tiles of each run: all, or a sample that every report names.
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "checks/acceptance/acceptance.hpp"
#include "common/stage.hpp"
#include "reference/attention.hpp"

namespace lab {

// The shapes that the source notes were validated on.
inline constexpr Shape NOTES_SHAPES[] = {{1, 8, 512, 64, false},
                                         {1, 8, 512, 64, true},
                                         {2, 8, 2048, 64, false},
                                         {2, 8, 2048, 64, true},
                                         {2, 8, 2048, 128, false}};

// The cases that are the same for every stage, in the order of the report.
std::vector<Case> all_cases(std::uint64_t seed);
// Those that the linked stage needs besides, so that all tiles of its launcher run (tiles.hpp).
std::vector<Case> tile_cases(const std::vector<Case>& others, std::uint64_t seed);
// The stage's plan for the case.
LaunchPlan plan_for(const Case& test);

// A stage's grid as the harness understands it: block (x,y,z) owns rows [x*tile_m, (x+1)*tile_m) of head y,
// batch z.
struct Tiling {
  Shape shape;
  int tile_m;
  std::uint32_t tiles_per_head;

  Tiling(const Shape& shape, const LaunchPlan& plan)
      : shape(shape), tile_m(plan.tile_m), tiles_per_head(std::uint32_t((shape.S + plan.tile_m - 1) / plan.tile_m)) {}
  std::uint32_t tiles() const { return tiles_per_head * std::uint32_t(shape.H) * std::uint32_t(shape.B); }
  std::size_t rows(std::uint32_t tile) const {
    return std::min(std::size_t(tile_m), shape.S - std::size_t(tile % tiles_per_head) * tile_m);
  }
  // The rows of these tiles, for the oracle; tiles are counted over the whole [B, H].
  std::vector<RowBlock> row_blocks(std::span<const std::uint32_t> some) const {
    std::vector<RowBlock> blocks;
    for (const std::uint32_t tile : some)
      blocks.push_back({int(tile / tiles_per_head), int(tile % tiles_per_head) * tile_m, int(rows(tile))});
    return blocks;
  }
  double tile_cost() const { return tile_m / 64.0 * shape.S / 2048.0 * shape.D / 64.0 * (shape.causal ? 0.5 : 1); }
};

struct Coverage {
  std::vector<std::uint32_t> checked, repeated;  // linear block indices; the second are some of the first
};
Coverage coverage(const Case& test, const Tiling& tiling, const AcceptanceOptions& options);
// The heads of what runs, ascending, counted over batches; none are listed on a GPU, which runs every block.
std::vector<std::uint32_t> heads_that_run(const Coverage& coverage, const Tiling& tiling);

// The cost of a case, in units of Tiling::tile_cost: for the progress line, and for quick=1, which runs the cheapest
// first.
double case_cost(const Case& test, const AcceptanceOptions& options);

}  // namespace lab
