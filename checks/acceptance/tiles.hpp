// The tiles that a stage's launcher chooses from: which one a problem uses and how, and the smallest problem for each
// use, so that none is left out.
#pragma once
#include <compare>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/stage.hpp"

namespace lab {

// A kernel treats tiles that lie past the end and tiles under the mask in code of their own.
struct TileUse {
  int tile = 0;  // LaunchPlan::tile
  bool causal = false;
  bool ragged = false;  // neither the query tile nor the key tile divides the length; else both do
  auto operator<=>(const TileUse&) const = default;
};
// None where only one of the two tiles divides the length.
std::optional<TileUse> use_of(const Shape& shape, const LaunchPlan& plan);

// The stage's plan on a GPU with this number of multiprocessors; 0 stands for the GPU at hand.
LaunchPlan plan_with(const StageInfo& stage, const Shape& shape, int multiprocessors);

struct TileProblem {
  Shape shape;
  int multiprocessors = 0;  // 0 where the launcher does not count them
};
// The cheapest problem for each use, of lengths up to 1152, one head or enough to fill an H200, and one multiprocessor
// or 132. A use that is not listed is one that the launcher does not choose for any of them.
std::map<TileUse, TileProblem> tile_problems(const StageInfo& stage);

// A line for each use of tile_problems() that is not in `ran`, and for each tile without a problem.
std::vector<std::string> left_out(const StageInfo& stage, const std::set<TileUse>& ran);

}  // namespace lab
